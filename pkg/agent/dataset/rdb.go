// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// header is the beginning of an RDB file.
type header struct {
	// empty: the end of the file follows the header, so that there is no key and no function.
	empty bool
	// replID and offset is where the primary's stream stood. Empty: not written, as by a primary that never had a replica.
	replID string
	offset int64
}

// Codes of the RDB format (rdb.h of the server).
const (
	opAux = 0xfa
	opEOF = 0xff

	magicLength = 9 // "REDIS0011", "VALKEY080"
	maxAuxText  = 1 << 16
)

var errNotRDB = errors.New("not an RDB file")

// readHeader reads the auxiliary fields that every RDB file begins with.
func readHeader(from io.Reader) (header, error) {
	var h header
	in := bufio.NewReader(from)
	magic := make([]byte, magicLength)
	if _, err := io.ReadFull(in, magic); err != nil {
		return h, fmt.Errorf("%w: %w", errNotRDB, err)
	}
	if string(magic[:5]) != "REDIS" && string(magic[:6]) != "VALKEY" {
		return h, errNotRDB
	}
	for {
		op, err := in.ReadByte()
		if err != nil {
			return h, err
		}
		if op != opAux {
			h.empty = op == opEOF
			return h, nil
		}
		name, err := readText(in)
		if err != nil {
			return h, err
		}
		value, err := readText(in)
		if err != nil {
			return h, err
		}
		switch name {
		case "repl-id":
			h.replID = value
		case "repl-offset":
			if h.offset, err = strconv.ParseInt(value, 10, 64); err != nil {
				return h, fmt.Errorf("repl-offset: %w", err)
			}
		}
	}
}

// readText reads one string of the format. Compressed ones, which no field of ours is, come back empty.
func readText(in *bufio.Reader) (string, error) {
	length, integer, err := readLength(in)
	if err != nil {
		return "", err
	}
	if integer {
		return strconv.FormatInt(int64(length), 10), nil //nolint:gosec // sign-extended by readLength
	}
	if length > maxAuxText {
		return "", fmt.Errorf("a field of %d bytes", length)
	}
	text := make([]byte, length)
	_, err = io.ReadFull(in, text)
	return string(text), err
}

// readLength reads a length, or, as a string may be, an integer in its place.
func readLength(in *bufio.Reader) (value uint64, integer bool, err error) {
	first, err := in.ReadByte()
	if err != nil {
		return 0, false, err
	}
	read := func(n int) []byte {
		bytes := make([]byte, n)
		if err == nil {
			_, err = io.ReadFull(in, bytes)
		}
		return bytes
	}
	switch {
	case first < 0x40:
		return uint64(first), false, nil
	case first < 0x80:
		return uint64(first&0x3f)<<8 | uint64(read(1)[0]), false, err
	case first == 0x80:
		return uint64(binary.BigEndian.Uint32(read(4))), false, err
	case first == 0x81:
		return binary.BigEndian.Uint64(read(8)), false, err
	case first == 0xc0:
		return uint64(int8(read(1)[0])), true, err //nolint:gosec // two's complement is meant
	case first == 0xc1:
		return uint64(int16(binary.LittleEndian.Uint16(read(2)))), true, err //nolint:gosec // as above
	case first == 0xc2:
		return uint64(int32(binary.LittleEndian.Uint32(read(4)))), true, err //nolint:gosec // as above
	}
	return 0, false, fmt.Errorf("a length that begins with %#x", first)
}
