// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/valkeykube/valkeykube/pkg/agent/dataset"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// baseConfig is the server's configuration as the controller rendered it.
func (o Options) baseConfig() (valkeyconf.Config, error) {
	path := filepath.Join(o.ConfigDir, naming.KeyServerConfig)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	config, err := valkeyconf.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return config, nil
}

// files says where the server keeps its data.
func (o Options) files(config valkeyconf.Config) dataset.Files {
	value := func(name string) string {
		directive, _ := config.Last(name)
		return directive.Value()
	}
	return dataset.Files{
		Dir: o.DataDir, AppendOnly: value("appendonly") == "yes",
		RDB: value("dbfilename"), AppendDir: value("appenddirname"), AppendFile: value("appendfilename"),
	}
}

// launch is what a start of the server depends on, beyond its configuration.
type launch struct {
	self boot.Endpoint
	// listening is where it listens, and what with.
	listening valkeyconf.Config
	// follow is whose replica it will be; zero for a primary.
	follow topology.Address
	disk   dataset.Disk
	// unpromotable keeps Sentinels from promoting a replica that has nothing yet.
	unpromotable bool
}

// render is the text of the file that the server starts with. It holds the replication password.
func (o Options) render(base valkeyconf.Config, l launch) (string, error) {
	port := strconv.Itoa(l.self.Port)
	config := append(valkeyconf.Config{}, base...)
	config = append(config,
		// It would refuse whoever comes from outside the pod, unless there is a password for everybody.
		valkeyconf.D("protected-mode", "no"),
		valkeyconf.D("dir", o.DataDir),
		valkeyconf.D("replica-announce-ip", l.self.Host),
		valkeyconf.D("replica-announce-port", port),
	)
	config = append(config, l.listening...)
	if aclFile := filepath.Join(o.ACLDir, naming.KeyACL); exists(aclFile) {
		config = append(config, valkeyconf.D("aclfile", aclFile))
	}
	password, err := readPassword(o.PasswordsDir, naming.UserReplication)
	if err != nil {
		return "", err
	}
	if password != "" {
		config = append(config, valkeyconf.D("masteruser", naming.UserReplication), valkeyconf.D("masterauth", password))
	}
	if !l.follow.IsZero() {
		config = append(config, valkeyconf.D("replicaof", l.follow.Host, strconv.Itoa(l.follow.Port)))
	}
	if l.unpromotable {
		config = append(config, valkeyconf.D("replica-priority", "0"))
	}
	if l.disk.Converts {
		config = append(config, valkeyconf.D("appendonly", yesNo(l.disk.Kind == dataset.KindAOF)))
	}
	return config.Render()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// replicaPriority is the configured one.
func replicaPriority(config valkeyconf.Config) string {
	if directive, set := config.Last("replica-priority"); set {
		return directive.Value()
	}
	return "100"
}
