// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"strconv"
	"strings"
)

const (
	// markLength is that of the random text that ends an RDB of unknown length.
	markLength = 40
	// An RDB ends with a byte that says so and the checksum of everything before.
	rdbEnd       = 0xff
	rdbTrailer   = 1 + rdbChecksum
	rdbChecksum  = 8
	rdbMagicSize = len("VALKEY")
)

// rdbTable is that of the "Jones" polynomial, which the server's crc64.c uses, bit-reversed as the library wants it.
var rdbTable = crc64.MakeTable(0x95ac9329ac4bc9b5)

// rdbSum goes on with a sum, as the server does: nothing is inverted, before or after.
func rdbSum(sum uint64, content []byte) uint64 { return ^crc64.Update(^sum, rdbTable, content) }

// frame finds the end of an RDB in what a server sends, and checks it. The zero value is not usable.
type frame struct {
	// left is how many bytes are still to come; negative where mark says when it is over.
	left int64
	mark []byte

	sum   uint64
	begun bool
	// held is what has come and is not passed on: it may be the end.
	held []byte
}

// newFrame reads what a server announces: the length, or "EOF:" and a mark.
func newFrame(announced string) (frame, error) {
	if mark, isMark := strings.CutPrefix(announced, "EOF:"); isMark {
		if len(mark) != markLength {
			return frame{}, fmt.Errorf("%w: an end mark of %d bytes", ErrUnexpected, len(mark))
		}
		return frame{left: -1, mark: []byte(mark)}, nil
	}
	length, err := strconv.ParseInt(announced, 10, 64)
	if err != nil || length < 0 {
		return frame{}, fmt.Errorf("%w: a length of %q", ErrUnexpected, announced)
	}
	return frame{left: length}, nil
}

// atMost is how many bytes may be read at once, so that nothing is read that does not belong to the RDB.
func (f *frame) atMost(size int) int {
	if f.mark != nil || int64(size) < f.left {
		return size
	}
	return int(f.left)
}

// take adds what has come, and returns what may be passed on until the next call, and whether that was the end.
func (f *frame) take(content []byte) (passed []byte, whole bool, err error) {
	f.held = append(f.held, content...)
	if f.mark == nil {
		f.left -= int64(len(content))
		whole = f.left == 0
	} else if whole = bytes.HasSuffix(f.held, f.mark); whole {
		f.held = f.held[:len(f.held)-markLength]
	}
	if err := f.checkBegin(whole); err != nil {
		return nil, false, err
	}
	if whole {
		return f.held, true, f.checkEnd()
	}
	ready := max(len(f.held)-rdbTrailer-len(f.mark), 0)
	passed = bytes.Clone(f.held[:ready])
	f.sum = rdbSum(f.sum, passed)
	f.held = append(f.held[:0], f.held[ready:]...)
	return passed, false, nil
}

func (f *frame) checkBegin(whole bool) error {
	if f.begun || len(f.held) < rdbMagicSize && !whole {
		return nil
	}
	f.begun = true
	if !bytes.HasPrefix(f.held, []byte("REDIS")) && !bytes.HasPrefix(f.held, []byte("VALKEY")) {
		return fmt.Errorf("%w: what is sent is no RDB", ErrUnexpected)
	}
	return nil
}

// checkEnd checks the trailer. A checksum of zero means that the server makes none (rdbchecksum no).
func (f *frame) checkEnd() error {
	at := len(f.held) - rdbChecksum
	if at < 1 || f.held[at-1] != rdbEnd {
		return fmt.Errorf("%w: the RDB has no end", ErrUnexpected)
	}
	said := binary.LittleEndian.Uint64(f.held[at:])
	if got := rdbSum(f.sum, f.held[:at]); said != 0 && said != got {
		return fmt.Errorf("%w: the RDB's checksum is %016x, its content's %016x", ErrUnexpected, said, got)
	}
	return nil
}
