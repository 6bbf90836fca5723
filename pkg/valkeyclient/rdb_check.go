// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import "math"

// RDBCheck finds out whether what is written to it is a whole RDB file: that it begins as one, ends as one, and that its checksum holds.
type RDBCheck struct{ frame frame }

// NewRDBCheck is one to which nothing has been written yet.
func NewRDBCheck() *RDBCheck { return &RDBCheck{frame{left: math.MaxInt64}} }

// Write takes the next part of the file. An error means that it is no RDB.
func (c *RDBCheck) Write(content []byte) (int, error) {
	if _, _, err := c.frame.take(content); err != nil {
		return 0, err
	}
	return len(content), nil
}

// Whole is nil if everything that was written so far is a whole RDB. A server that makes no checksum (rdbchecksum no) is believed.
func (c *RDBCheck) Whole() error {
	if err := c.frame.checkBegin(true); err != nil {
		return err
	}
	return c.frame.checkEnd()
}
