// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"math/rand/v2"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// version is a resource version: milliseconds since 1970, and below them the number of the feed that made it. Versions of one feed
// grow with each change. Those of different feeds (another API server, or this one before a restart) compare as the time at which they
// were made, so that "not older than" means the same everywhere; but what happened in between can only be told by the feed that made one.
type version uint64

// feedBits is how many bits number the feed. 43 bits are left for the time, and the sign bit of an int64 stays clear.
const feedBits = 20

func newVersion(at time.Time, feed uint64) version {
	return version(uint64(max(at.UnixMilli(), 0))<<feedBits | feed) //nolint:gosec // not negative
}

// newFeedNumber is random: two feeds have the same in one case of a million.
func newFeedNumber() uint64 { return rand.Uint64N(1 << feedBits) } //nolint:gosec // a name, not a secret

func (v version) feed() uint64 { return uint64(v) & (1<<feedBits - 1) }

func (v version) at() time.Time { return time.UnixMilli(int64(v >> feedBits)) } //nolint:gosec // 44 bits

// after is the next version of a feed: now, or as little after v as can be.
func (v version) after(now time.Time, feed uint64) version {
	next := newVersion(now, feed)
	if next <= v {
		next = newVersion(v.at().Add(time.Millisecond), feed)
	}
	return next
}

func (v version) String() string { return strconv.FormatUint(uint64(v), 10) }

// parseVersion reads what a client sends; "" and "0" are the zero version: any.
func parseVersion(text string) (version, error) {
	if text == "" {
		return 0, nil
	}
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest("invalid resourceVersion " + strconv.Quote(text) + ": not a number")
	}
	return version(number), nil
}
