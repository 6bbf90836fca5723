// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/build"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/images"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/plan"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/render"
)

// Programs are folders of what images are made of besides those of the cluster; an empty one is left out.
type Programs struct {
	// Product holds the product's static programs, Clients the client programs of its tests.
	Product, Clients string
	// Musl asks for Valkey on musl too.
	Musl bool
}

// Assemble makes the archives of the images: those of the cluster, the servers' and those of the programs.
func Assemble(cache build.Cache, programs Programs) ([]images.Archive, error) {
	list, err := images.Servers(cache)
	if err != nil {
		return nil, err
	}
	list = append(images.System(cache), list...)
	if programs.Product != "" {
		for _, program := range images.ProductPrograms {
			list = append(list, images.Product(programs.Product, program))
		}
	}
	if programs.Clients != "" {
		image, err := clients(cache, programs)
		if err != nil {
			return nil, err
		}
		list = append(list, image)
	}
	if programs.Musl {
		valkey, err := cache.MuslValkey()
		if err != nil {
			return nil, err
		}
		list = append(list, images.Musl(valkey))
	}
	return assemble(cache, list)
}

func clients(cache build.Cache, programs Programs) (images.Image, error) {
	if programs.Product == "" {
		return images.Image{}, errors.New("the clients need the ledger, which is in the folder of --product-bin")
	}
	root, err := cache.Nodejs()
	if err != nil {
		return images.Image{}, err
	}
	return images.Clients(root, programs.Product, programs.Clients)
}

func assemble(cache build.Cache, list []images.Image) ([]images.Archive, error) {
	archives := make([]images.Archive, len(list))
	failures := make([]error, len(list))
	var making sync.WaitGroup
	for i, image := range list {
		making.Go(func() { archives[i], failures[i] = images.Assemble(filepath.Join(cache.Dir, "images"), image) })
	}
	making.Wait()
	return archives, errors.Join(failures...)
}

// loadBase loads all but the product's images.
func (l *Lab) loadBase() error {
	archives, err := Assemble(l.cache, Programs{})
	if err != nil {
		return err
	}
	_, err = l.load(archives)
	return err
}

// Load loads the programs' images, as far as a node does not have them, and the others too.
func (l *Lab) Load(programs Programs) error {
	archives, err := Assemble(l.cache, programs)
	if err != nil {
		return err
	}
	loaded, err := l.load(archives)
	for _, line := range loaded {
		l.printf("%s\n", line)
	}
	if err == nil && len(loaded) == 0 {
		l.printf("all nodes have all images\n")
	}
	return err
}

// load brings archives into all nodes that run, at once.
func (l *Lab) load(archives []images.Archive) (loaded []string, err error) {
	var (
		mu       sync.Mutex
		failures []error
		nodes    sync.WaitGroup
	)
	for _, node := range l.cluster.Nodes {
		nodes.Go(func() {
			references, err := l.loadNode(node, archives)
			mu.Lock()
			defer mu.Unlock()
			for _, reference := range references {
				loaded = append(loaded, node.Name+": loaded "+reference)
			}
			if err != nil {
				failures = append(failures, fmt.Errorf("load images into %s: %w", node.Name, err))
			}
		})
	}
	nodes.Wait()
	return loaded, errors.Join(failures...)
}

func (l *Lab) loadNode(node plan.Node, archives []images.Archive) ([]string, error) {
	daemon, found, err := l.daemons.Get(containerdOf(node))
	if err != nil || !found || daemon.Stopped {
		return nil, err
	}
	socket := render.PathsOf(node).ContainerdSocket()
	if err := awaitSocket(socket, time.Minute); err != nil {
		return nil, err
	}
	runtime := images.Runtime{Ctr: filepath.Join(l.cache.Runtime(), "usr", "bin", "ctr"), Socket: socket}
	return runtime.Load(archives)
}

func awaitSocket(path string, within time.Duration) error {
	deadline := time.Now().Add(within)
	for {
		conn, err := net.Dial("unix", path)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("nobody listens: %w", err)
		}
		if _, statErr := os.Stat(filepath.Dir(path)); statErr != nil {
			return statErr
		}
		time.Sleep(100 * time.Millisecond)
	}
}
