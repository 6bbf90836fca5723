// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package aggregated

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func deleteSteps(k kind) []step {
	create := func(name string) step {
		return run("create", "-f", "-").of(k.object(name, fields{"metadata.labels": map[string]any{"set": "gone", "own": name}})).prints("created")
	}
	remove := func(args ...string) step { return run(append([]string{"delete", k.short}, args...)...) }
	return []step{
		create("one"), create("two"), create("three"), create("four"), create("five"),
		remove("one", "--dry-run=server").prints(k.printed+` "one" deleted`, "(server dry run)"),
		remove("one").prints(k.printed + ` "one" deleted`),
		remove("one").refused("Error from server (NotFound): " + k.missing("one")),
		remove("one", "--ignore-not-found").without("one"),
		remove("two", "--now"),
		remove("three", "--grace-period=0", "--force"),
		run("delete", "-f", "-").of(k.object("four", nil)).prints(`"four" deleted`),
		remove("-l", "own=five", "-o", "name").prints(k.printed + "/five"),
		run("get", k.short, "-l", "set=gone").prints("No resources found"),
		create("six"), create("seven"),
		run("delete", "--raw", "/apis/"+k.apiVersion+"/"+k.resource+"/six").refused("the server"),
		remove("--field-selector=metadata.name=six").prints(`"six" deleted`).without("seven"),
		remove("--all").prints(`"seven" deleted`),
		run("get", k.short).prints("No resources found"),
	}
}

// testWatch reads the rows that kubectl prints as things happen.
func testWatch(t *testing.T, in kubectl, k kind) {
	in.do(t, run("create", "-f", "-").of(k.object("seen", nil)).prints("created"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	plain := in.command(t, "get", k.short, "--field-selector=metadata.name=seen", "-w", "--output-watch-events", "-L", "happens")
	watch := exec.CommandContext(ctx, plain.Path, plain.Args[1:]...)
	watch.Env = plain.Env
	rows, err := watch.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaints bytes.Buffer
	watch.Stderr = &complaints
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = watch.Wait() }()
	lines := bufio.NewScanner(rows)
	read := func(want ...string) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("it ended before %q: %v %s", want, lines.Err(), complaints.String())
		}
		for _, word := range want {
			if !strings.Contains(lines.Text(), word) {
				t.Errorf("row %q, want %q", lines.Text(), word)
			}
		}
	}
	read("EVENT", "NAME", "AGE", "HAPPENS")
	read("ADDED", "seen")
	in.do(t, run("label", k.short, "seen", "happens=now"))
	read("MODIFIED", "seen", "now")
	in.do(t, run("delete", k.short, "seen"))
	read("DELETED", "seen")
}

// testWait lets kubectl wait for what has not happened yet.
func testWait(t *testing.T, in kubectl, k kind) {
	in.do(t, run("create", "-f", "-").of(k.object("awaited", nil)).prints("created"))
	for _, wait := range []struct{ what, want string }{
		{"jsonpath={.metadata.labels.happens}=now", "condition met"}, {"delete", "condition met"},
	} {
		// It has found the object before it prints that it watches it.
		waiting := in.command(t, "wait", k.short+"/awaited", "--for="+wait.what, "--timeout=60s", "-v=6")
		var output bytes.Buffer
		log, err := waiting.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		waiting.Stdout = &output
		if err := waiting.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(log)
		isWatching := false
		for !isWatching && lines.Scan() {
			isWatching = strings.Contains(lines.Text(), "watch=true")
		}
		if !isWatching {
			t.Errorf("it does not watch: %s", output.String())
		}
		step := run("label", k.short, "awaited", "happens=now")
		if wait.what == "delete" {
			step = run("delete", k.short, "awaited", "--wait=false")
		}
		in.do(t, step)
		for lines.Scan() {
			continue
		}
		if err := waiting.Wait(); err != nil || !strings.Contains(output.String(), wait.want) {
			t.Errorf("%s: %v: %s", wait.what, err, output.String())
		}
	}
}

// testOwned deletes owners with each policy: first what is stored, as nobody collects garbage yet, then what comes of it.
func (c *cluster) testOwned(t *testing.T) {
	in := c.in(t, c.kubectls(t)["kubectl"], "owned")
	policies := map[string][]string{"background": {}, "foreground": {metav1.FinalizerDeleteDependents}, "orphan": {metav1.FinalizerOrphanDependents}}
	for _, k := range kinds {
		for policy, finalizers := range policies {
			name := policy + "-" + strings.ToLower(k.name)
			in.do(t, run("create", "-f", "-").of(k.object(name, nil)).prints("created"))
			owner := &unstructured.Unstructured{Object: map[string]any{"apiVersion": k.apiVersion, "kind": k.name}}
			if err := c.client.Get(t.Context(), client.ObjectKey{Namespace: in.namespace, Name: name}, owner); err != nil {
				t.Fatal(err)
			}
			child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: in.namespace, Name: name, OwnerReferences: []metav1.OwnerReference{{
				APIVersion: k.apiVersion, Kind: k.name, Name: name, UID: owner.GetUID(), BlockOwnerDeletion: ptr.To(true), Controller: ptr.To(true),
			}}}}
			if err := c.client.Create(t.Context(), child); err != nil {
				t.Fatal(err)
			}
			in.do(t, run("delete", k.short, name, "--cascade="+policy, "--wait=false").prints("deleted"))
			stored := owner.DeepCopy()
			err := c.client.Get(t.Context(), client.ObjectKeyFromObject(owner), stored)
			if policy == "background" {
				if !apierrors.IsNotFound(err) {
					t.Errorf("%s is there, with the finalizers %v: %v", name, stored.GetFinalizers(), err)
				}
				continue
			}
			if err != nil || fmt.Sprint(stored.GetFinalizers()) != fmt.Sprint(finalizers) || stored.GetDeletionTimestamp() == nil {
				t.Errorf("%s: finalizers %v, deleted %v: %v", name, stored.GetFinalizers(), stored.GetDeletionTimestamp(), err)
			}
		}
	}
	c.collectGarbage(t)
	for _, k := range kinds {
		for policy := range policies {
			name := policy + "-" + strings.ToLower(k.name)
			await(t, name, func(ctx context.Context) error {
				owner := &unstructured.Unstructured{Object: map[string]any{"apiVersion": k.apiVersion, "kind": k.name}}
				key := client.ObjectKey{Namespace: in.namespace, Name: name}
				if err := c.client.Get(ctx, key, owner); !apierrors.IsNotFound(err) {
					return errors.Join(errors.New("the owner is there"), err)
				}
				child := &corev1.ConfigMap{}
				err := c.client.Get(ctx, key, child)
				if policy == "orphan" && err == nil && len(child.OwnerReferences) == 0 || policy != "orphan" && apierrors.IsNotFound(err) {
					return nil
				}
				return errors.Join(fmt.Errorf("the child has the owners %v", child.OwnerReferences), err)
			})
		}
	}
}

// collectGarbage runs the garbage collector of kube-controller-manager.
func (c *cluster) collectGarbage(t *testing.T) {
	t.Helper()
	manager := exec.CommandContext(t.Context(), filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kube-controller-manager"),
		"--kubeconfig="+c.userKubeconfig(t, "collector", "system:masters"), "--controllers=garbage-collector-controller",
		"--leader-elect=false", "--secure-port=0")
	var log bytes.Buffer
	manager.Stdout, manager.Stderr = &log, &log
	if err := manager.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = manager.Process.Kill()
		_ = manager.Wait()
		if t.Failed() {
			t.Logf("the garbage collector's log:\n%s", log.String())
		}
	})
}
