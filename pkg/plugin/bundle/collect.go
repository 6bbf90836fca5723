// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/plugin/cluster"
	"github.com/valkeykube/valkeykube/pkg/plugin/screen"
)

// askPatience bounds each question.
const askPatience = 20 * time.Second

// Options say how much is collected.
type Options struct {
	// Lines and Bytes bound each log.
	Lines, Bytes int64
	// Version of the plugin.
	Version string
	// Now is when the bundle is made.
	Now time.Time
	// Tell is called with what is being collected.
	Tell func(what string)
}

// Contents is what a bundle holds.
type Contents struct {
	Files int `json:"files"`
	// Missing says what could not be had, and why.
	Missing []string `json:"missing,omitempty"`
}

// collector collects into one archive.
type collector struct {
	*cluster.Clients
	options Options
	dynamic dynamic.Interface
	into    *archive
}

// Write collects what a maintainer needs about the Valkeys of a namespace and the product's installation, as a .tar.gz. What cannot be had is
// named in it; only an archive that cannot be written is an error.
func Write(ctx context.Context, w io.Writer, clients *cluster.Clients, options Options) (Contents, error) {
	client, err := dynamic.NewForConfig(clients.Config)
	if err != nil {
		return Contents{}, err
	}
	folder := "valkey-support-" + clients.Namespace + "-" + options.Now.UTC().Format("20060102T150405Z")
	c := &collector{Clients: clients, options: options, dynamic: client, into: newArchive(w, folder, options.Now)}
	installation := clients.Installation(ctx)
	c.into.object("versions.yaml", map[string]any{"plugin": options.Version, "installation": installation})
	c.namespace(ctx)
	c.valkeys(ctx)
	c.pods(ctx, clients.Namespace, "pods", labels.Set{naming.LabelManagedBy: naming.ManagedBy}, true)
	c.system(ctx, installation.Namespace)
	c.readme(installation.Namespace)
	err = c.into.close()
	if err == nil {
		err = ctx.Err()
	}
	return Contents{Files: c.into.files, Missing: c.into.missing}, err
}

func (c *collector) readme(system string) {
	var text strings.Builder
	fmt.Fprintf(&text, "Made by kubectl valkey support-bundle %s at %s, of namespace %s and of the product's own, %s.\n",
		c.options.Version, c.options.Now.UTC().Format(time.RFC3339), c.Namespace, system)
	fmt.Fprintf(&text, "Secrets were not read. What looked like a password, a token or a key elsewhere is %s. Look through it before you pass it on.\n", hidden)
	fmt.Fprintf(&text, "Logs are cut at %d lines and %s.\n", c.options.Lines, screen.Bytes(c.options.Bytes))
	if len(c.into.missing) > 0 {
		fmt.Fprintf(&text, "\nCould not be had:\n- %s\n", strings.Join(c.into.missing, "\n- "))
	}
	c.into.raw("README.txt", []byte(text.String()))
}

// source is a resource of the namespace. What is not only ours is chosen by our label.
type source struct {
	schema.GroupVersionResource
	labelled bool
}

var ours = v1alpha1.SchemeGroupVersion

var sources = []source{
	{ours.WithResource("valkeys"), false},
	{ours.WithResource("valkeysentinels"), false},
	{ours.WithResource("valkeynodes"), false},
	{ours.WithResource("monitors"), false},
	{corev1.SchemeGroupVersion.WithResource("services"), true},
	{corev1.SchemeGroupVersion.WithResource("configmaps"), true},
	{corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), true},
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}, true},
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, true},
	{schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}, true},
	{schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}, true},
}

func (c *collector) namespace(ctx context.Context) {
	for _, s := range sources {
		selector := ""
		if s.labelled {
			selector = labels.Set{naming.LabelManagedBy: naming.ManagedBy}.String()
		}
		c.list(ctx, s.GroupVersionResource, c.Namespace, selector, "objects/"+s.Resource+".yaml", nil)
	}
	c.events(ctx, c.Namespace, "events.yaml", func(object *unstructured.Unstructured) bool {
		kind, _, _ := unstructured.NestedString(object.Object, "involvedObject", "kind")
		name, _, _ := unstructured.NestedString(object.Object, "involvedObject", "name")
		return strings.HasPrefix(kind, "Valkey") || strings.HasPrefix(name, "valkey-") || strings.HasPrefix(name, "internal-")
	})
}

func (c *collector) events(ctx context.Context, namespace, file string, keep func(*unstructured.Unstructured) bool) {
	c.list(ctx, corev1.SchemeGroupVersion.WithResource("events"), namespace, "", file, keep)
}

// list adds what keep keeps, all if it is nil.
func (c *collector) list(ctx context.Context, resource schema.GroupVersionResource, namespace, selector, file string, keep func(*unstructured.Unstructured) bool) {
	c.options.Tell(file)
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	list, err := c.dynamic.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		c.into.lacks(file, err)
		return
	}
	if keep != nil {
		kept := list.Items[:0]
		for i := range list.Items {
			if keep(&list.Items[i]) {
				kept = append(kept, list.Items[i])
			}
		}
		list.Items = kept
	}
	c.into.object(file, list)
}

// valkeys adds what can only be asked live: a screen and the replication of each Valkey.
func (c *collector) valkeys(ctx context.Context) {
	list, err := c.Valkeys(ctx)
	if err != nil {
		c.into.lacks("valkeys", err)
		return
	}
	for i := range list.Items {
		name := list.Items[i].Name
		c.options.Tell("valkeys/" + name)
		asking, cancel := context.WithTimeout(ctx, askPatience)
		seen, err := c.Overview(asking, name)
		cancel()
		if err != nil {
			c.into.lacks("valkeys/"+name, err)
			continue
		}
		var text bytes.Buffer
		screen.Status(&text, seen, c.options.Now, screen.Palette{})
		c.into.text("valkeys/"+name+"/status.txt", text.Bytes())
		for _, unknown := range seen.Unknown {
			c.into.missing = append(c.into.missing, "valkeys/"+name+": "+Text(unknown))
		}
		if seen.Replication != nil {
			c.into.object("valkeys/"+name+"/replication.yaml", seen.Replication)
		}
		if seen.Monitor != nil {
			c.into.object("valkeys/"+name+"/monitor.yaml", seen.Monitor)
		}
	}
}
