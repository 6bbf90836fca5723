// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import (
	"encoding/binary"
	"errors"
	"testing"
)

func TestRDBCheck(t *testing.T) {
	body := []byte("VALKEY080\x00some content\xff")
	whole := binary.LittleEndian.AppendUint64(body, rdbSum(0, body))
	for name, c := range map[string]struct {
		content []byte
		ok      bool
	}{
		"whole":          {whole, true},
		"no checksum":    {binary.LittleEndian.AppendUint64(append([]byte{}, body...), 0), true},
		"a part":         {whole[:len(whole)-1], false},
		"another byte":   {append([]byte("VALKEY081"), whole[9:]...), false},
		"nothing":        {nil, false},
		"something else": {[]byte("<html></html>"), false},
	} {
		t.Run(name, func(t *testing.T) {
			for size := 1; size <= len(c.content)+1; size += 3 {
				check, err := NewRDBCheck(), error(nil)
				for rest := c.content; len(rest) > 0 && err == nil; {
					n := min(size, len(rest))
					_, err = check.Write(rest[:n])
					rest = rest[n:]
				}
				if err == nil {
					err = check.Whole()
				}
				if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrUnexpected) {
					t.Errorf("in pieces of %d: %v", size, err)
				}
			}
		})
	}
}
