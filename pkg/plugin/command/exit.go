// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The exit codes.
const (
	// ExitOK: what was asked for was done.
	ExitOK = 0
	// ExitError: it failed.
	ExitError = 1
	// ExitUsage: the command line makes no sense; nothing was asked.
	ExitUsage = 2
	// ExitRefused: it was refused, or is not possible now; nothing was changed. The same may be granted later.
	ExitRefused = 3
	// ExitRunning: it was begun and goes on.
	ExitRunning = 4
)

// errRunning: what was begun goes on.
var errRunning = errors.New("still running")

// usageError is one that the person can mend in the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// codeOf is the exit code of an error.
func codeOf(err error) int {
	var usage usageError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &usage):
		return ExitUsage
	case errors.Is(err, errRunning):
		return ExitRunning
	case apierrors.IsConflict(err), apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err):
		return ExitRefused
	}
	return ExitError
}
