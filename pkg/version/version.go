// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import "runtime/debug"

// stamped is set by the linker (make build): the tag or commit that the binary was built from.
var stamped string

// String is the version: the one that was stamped, or what Go recorded about the module or its commit. It is never empty.
func String() string {
	if stamped != "" {
		return stamped
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return recorded(build)
}

func recorded(build *debug.BuildInfo) string {
	if version := build.Main.Version; version != "" && version != "(devel)" {
		return version
	}
	for _, setting := range build.Settings {
		if setting.Key == "vcs.revision" && setting.Value != "" {
			return setting.Value
		}
	}
	return "unknown"
}
