// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/host"
)

// tools maps the programs that the machine itself has to have to their Debian packages.
var tools = map[string]string{
	"ip":   "iproute2",
	"nft":  "nftables",
	"runc": "runc",
}

// Preflight installs the system packages that are missing, or names them where there is no apt.
func Preflight(say func(format string, args ...any)) error {
	missing := map[string]bool{}
	for tool, pkg := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			missing[pkg] = true
		}
	}
	if _, err := os.Stat("/usr/share/keyrings/debian-archive-keyring.gpg"); err != nil {
		missing["debian-archive-keyring"] = true
	}
	if len(missing) == 0 {
		return nil
	}
	packages := slices.Sorted(maps.Keys(missing))
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("install the packages that have %s, then try again", strings.Join(packages, ", "))
	}
	say("installing %s with apt-get ...\n", strings.Join(packages, ", "))
	if err := host.Run("apt-get", "update", "-qq"); err != nil {
		return err
	}
	return host.Run("apt-get", append([]string{"install", "-y", "-qq", "--no-install-recommends",
		"-o", "Dpkg::Options::=--force-confold"}, packages...)...)
}
