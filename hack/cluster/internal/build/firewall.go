// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// firewallPrograms are what the enforcer of network policies calls, and the binaries that do it.
var firewallPrograms = map[string]string{
	"iptables": "xtables-nft-multi", "iptables-save": "xtables-nft-multi", "iptables-restore": "xtables-nft-multi",
	"ip6tables": "xtables-nft-multi", "ip6tables-save": "xtables-nft-multi", "ip6tables-restore": "xtables-nft-multi",
	"ipset": "ipset",
}

// finishFirewall adds wrappers that run iptables and ipset with the libraries, and the extensions, of their own suite. It is the iptables that makes rules of nftables: the older kind keeps a lock in a place of the whole machine.
func finishFirewall(root, final string) error {
	extensions, err := filepath.Glob(filepath.Join(root, "usr", "lib", "*", "xtables"))
	if err != nil || len(extensions) != 1 {
		return fmt.Errorf("the extensions of iptables are in %d places below %s", len(extensions), root)
	}
	where, err := filepath.Rel(root, extensions[0])
	if err != nil {
		return err
	}
	bin := filepath.Join(root, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	for program, binary := range firewallPrograms {
		text, err := wrapper(root, final, filepath.Join("usr", "sbin", binary))
		if err != nil {
			return err
		}
		// Which program it is, the one binary of iptables reads off the name it is called by.
		text = strings.Replace(text, "--argv0 "+binary, "--argv0 "+program, 1)
		text = strings.Replace(text, "exec ", "XTABLES_LIBDIR="+filepath.Join(final, where)+" exec ", 1)
		if err := os.WriteFile(filepath.Join(bin, program), []byte(text), 0o755); err != nil {
			return err
		}
	}
	return nil
}
