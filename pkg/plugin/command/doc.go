// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command owns the command line of kubectl valkey: commands, flags, exit codes and what is printed; what the commands show is asked and
// drawn by the packages beside it.
package command
