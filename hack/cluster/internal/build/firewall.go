// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// finishFirewall adds wrappers that run iptables and ipset with the libraries, and the extensions, of their own suite. root becomes
// final afterwards. It is the iptables that makes rules of nftables: the older kind keeps a lock in a place of the whole machine.
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
	for _, program := range []string{"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore", "ipset"} {
		// Which program it is, the one binary of iptables reads off the name it is called by.
		binary := "xtables-nft-multi"
		if program == "ipset" {
			binary = program
		}
		text, err := wrapper(root, final, filepath.Join("usr", "sbin", binary))
		if err != nil {
			return err
		}
		text = strings.Replace(text, "--argv0 "+binary, "--argv0 "+program, 1)
		text = strings.Replace(text, "exec ", "XTABLES_LIBDIR="+filepath.Join(final, where)+" exec ", 1)
		if err := os.WriteFile(filepath.Join(bin, program), []byte(text), 0o755); err != nil {
			return err
		}
	}
	return nil
}
