// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package console owns a person's session with a server: reading commands, and printing answers as valkey-cli does; it knows nothing of
// Kubernetes, and keeps nothing of what is typed beyond the session.
package console
