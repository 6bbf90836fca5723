// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"strings"
	"testing"
)

// Remembered is an error unless each Sentinel lists exactly so many replicas, by host name, and holds none for down.
func (s *Set) Remembered(t *testing.T, c *Client, replicas int) error {
	t.Helper()
	for _, sentinel := range s.SentinelAddresses() {
		out, err := c.Do(t, sentinel, "SENTINEL", "REPLICAS", s.Name)
		if err != nil {
			return err
		}
		lines, listed := strings.Split(out, "\n"), 0
		for i := 0; i+1 < len(lines); i += 2 {
			switch key, value := lines[i], lines[i+1]; {
			case key == "ip":
				listed++
				if !strings.HasSuffix(value, ".svc."+s.Env.Domain) {
					return fmt.Errorf("%s lists %s", sentinel, value)
				}
			case key == "flags" && strings.Contains(value, "down"):
				return fmt.Errorf("%s holds a replica for %s", sentinel, value)
			}
		}
		if listed != replicas {
			return fmt.Errorf("%s lists %d replicas: %s", sentinel, listed, out)
		}
	}
	return nil
}
