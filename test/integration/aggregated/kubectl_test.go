// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package aggregated

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// kind is a kind as kubectl's user knows it, and where in its spec the fields are that the tables change.
type kind struct {
	apiVersion, name, resource, short string
	// printed is how kubectl names the kind in what it prints.
	printed string
	// spec is the least that an object needs.
	spec map[string]any
	// word is the path of a field with free text, words that of a map of texts, and containers that of a list that is merged by name.
	word, words, containers string
	isScalable              bool
	// columns are what kubectl prints for it, without and with -o wide.
	columns, wide string
}

// kinds are ours, and a built-in one: what holds for it is what holds for ours.
var kinds = []kind{
	{
		apiVersion: "valkey.io/v1alpha1", name: "Valkey", resource: "valkeys", short: "vk", printed: "valkey.valkey.io", spec: map[string]any{},
		word: "spec.image", words: "spec.podLabels", containers: "spec.containers", isScalable: true,
		columns: "NAME STATE REASON PRIMARY READY SYNCED MONITORED-BY AGE", wide: "ADDRESS IMAGE QUORUM LAST-FAILOVER",
	},
	{
		apiVersion: "valkey.io/v1alpha1", name: "ValkeySentinel", resource: "valkeysentinels", short: "vks", printed: "valkeysentinel.valkey.io", spec: map[string]any{},
		word: "spec.image", words: "spec.podLabels", containers: "spec.containers", isScalable: true,
		columns: "NAME STATE REASON READY MONITORS QUORUM-OK AGE", wide: "IMAGE",
	},
	{
		apiVersion: "valkey.io/v1alpha1", name: "ValkeyNode", resource: "valkeynodes", short: "vkn", printed: "valkeynode.valkey.io", spec: map[string]any{},
		word: "spec.image", words: "spec.podLabels", containers: "spec.containers",
		columns: "NAME READY ROLE REPLICA-OF POD IP AGE", wide: "VALKEY IMAGE",
	},
	{
		apiVersion: "apps/v1", name: "Deployment", resource: "deployments", short: "deploy", printed: "deployment.apps", spec: map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"a": "b"}},
			"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}},
		},
		word: "spec.template.spec.hostname", words: "spec.template.metadata.annotations", containers: "spec.template.spec.containers", isScalable: true,
		columns: "NAME READY UP-TO-DATE AVAILABLE AGE", wide: "CONTAINERS IMAGES SELECTOR",
	},
}

func (k kind) isOurs() bool { return strings.HasPrefix(k.apiVersion, "valkey.io/") }

// fields are paths of an object and what is there.
type fields map[string]any

// object is the JSON of an object with these fields beside what it needs. The path of labels is that of the object's own.
func (k kind) object(name string, set fields) string {
	made := (&unstructured.Unstructured{Object: map[string]any{"apiVersion": k.apiVersion, "kind": k.name, "metadata": map[string]any{"name": name}, "spec": k.spec}}).DeepCopy()
	if !k.isOurs() {
		_ = unstructured.SetNestedField(made.Object, containers("one"), strings.Split(k.containers, ".")...)
	}
	return with(made.Object, set)
}

// partial is the JSON of an object with nothing but these fields, for server-side apply.
func (k kind) partial(name string, set fields) string {
	return with(map[string]any{"apiVersion": k.apiVersion, "kind": k.name, "metadata": map[string]any{"name": name}}, set)
}

func with(object map[string]any, set fields) string {
	for path, value := range set {
		if err := unstructured.SetNestedField(object, value, strings.Split(path, ".")...); err != nil {
			panic(err)
		}
	}
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func containers(names ...string) []any {
	list := make([]any, 0, len(names))
	for _, name := range names {
		list = append(list, map[string]any{"name": name, "image": "example.org/" + name})
	}
	return list
}

// step is one run of kubectl.
type step struct {
	args []string
	// input is what kubectl reads.
	input string
	// editor is run by "kubectl edit" on the file.
	editor string
	// want is what it prints, and not what it does not print; words may be any number of blanks apart.
	want, not []string
	isRefused bool
}

func run(args ...string) step              { return step{args: args} }
func (s step) of(input string) step        { s.input = input; return s }
func (s step) edits(editor string) step    { s.editor = editor; return s }
func (s step) prints(want ...string) step  { s.want = want; return s }
func (s step) without(not ...string) step  { s.not = not; return s }
func (s step) refused(want ...string) step { s.want, s.isRefused = want, true; return s }
func (k kind) get(name, path string) step {
	return run("get", k.short, name, "-o", "jsonpath={."+path+"}")
}
func (k kind) says(name, path, is string) step { return k.get(name, path+"}{'|'").prints(is + "|") }
func (k kind) did(name, what string) string    { return k.printed + "/" + name + " " + what }
func (k kind) missing(name string) string      { return k.group() + ` "` + name + `" not found` }
func (k kind) group() string                   { return k.resource + "." + k.printed[strings.Index(k.printed, ".")+1:] }
func (k kind) applied(name string) string      { return k.did(name, "serverside-applied") }
func apply(args ...string) step                { return run(append([]string{"apply", "-f", "-"}, args...)...) }
func applyAs(manager string, more ...string) step {
	return apply(append([]string{"--server-side", "--field-manager=" + manager}, more...)...)
}

// kubectl is a kubectl that acts as the administrator in a namespace.
type kubectl struct {
	binary, home, kubeconfig, namespace string
}

func (c *cluster) kubectls(t *testing.T) map[string]kubectl {
	t.Helper()
	made := map[string]kubectl{}
	for _, name := range []string{"kubectl", "kubectl-v1.36"} {
		binary := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), name)
		if _, err := os.Stat(binary); err != nil {
			t.Fatalf("hack/integration.sh links it: %v", err)
		}
		made[name] = kubectl{binary: binary, home: t.TempDir(), kubeconfig: c.userKubeconfig(t, "root", "system:masters")}
	}
	return made
}

// in is the kubectl of a new namespace.
func (c *cluster) in(t *testing.T, k kubectl, namespace string) kubectl {
	t.Helper()
	if err := c.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	k.namespace = namespace
	return k
}

func (k kubectl) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	all := append([]string{"--kubeconfig", k.kubeconfig, "--namespace", k.namespace}, args...)
	command := exec.CommandContext(t.Context(), k.binary, all...)
	command.Env = append(os.Environ(), "HOME="+k.home, "KUBECACHEDIR="+filepath.Join(k.home, "cache"), "LANG=C")
	return command
}

func (k kubectl) output(t *testing.T, s step) (string, error) {
	t.Helper()
	command := k.command(t, s.args...)
	command.Env = append(command.Env, "KUBE_EDITOR="+s.editor)
	command.Stdin = strings.NewReader(s.input)
	output, err := command.CombinedOutput()
	return string(output), err
}

// do runs the steps, one after another.
func (k kubectl) do(t *testing.T, steps ...step) {
	t.Helper()
	for _, s := range steps {
		output, err := k.output(t, s)
		plain := strings.Join(strings.Fields(output), " ")
		holds := func(text string) bool { return strings.Contains(plain, strings.Join(strings.Fields(text), " ")) }
		isRight := (err != nil) == s.isRefused && !slices.ContainsFunc(s.not, holds)
		for _, want := range s.want {
			isRight = isRight && holds(want)
		}
		if !isRight {
			t.Errorf("kubectl %s\n%s\nerror: %v\nit prints:\n%s\nwant %q, not %q", strings.Join(s.args, " "), s.input, err, output, s.want, s.not)
		}
	}
}

// Every version of kubectl does with our kinds what it does with a built-in one.
func TestKubectl(t *testing.T) {
	c := startCluster(t)
	c.serve(t, t.TempDir())
	c.awaitAPI(t)
	for name, binary := range c.kubectls(t) {
		t.Run(name, func(t *testing.T) {
			tested := kinds
			if name != "kubectl" {
				// What it does differently, it does to every kind.
				tested = kinds[:1]
			}
			for _, k := range tested {
				t.Run(k.name, func(t *testing.T) {
					t.Parallel()
					testKind(t, c.in(t, binary, strings.ReplaceAll(name, ".", "-")+"-"+strings.ToLower(k.name)), k)
				})
			}
			t.Run("the group", func(t *testing.T) {
				t.Parallel()
				testGroup(t, c.in(t, binary, strings.ReplaceAll(name, ".", "-")+"-group"))
			})
		})
	}
	t.Run("every field is explained", c.testEveryFieldIsExplained)
	t.Run("what is owned", c.testOwned)
}

func testKind(t *testing.T, in kubectl, k kind) {
	for _, table := range []struct {
		name  string
		steps []step
	}{
		{"create", createSteps(k)}, {"apply", applySteps(k)}, {"server-side apply", serverSideSteps(k)}, {"edit", editSteps(k)},
		{"patch", patchSteps(k)}, {"replace", replaceSteps(k)}, {"scale", scaleSteps(k)}, {"label and annotate", labelSteps(k)},
		{"get", getSteps(k)}, {"explain and describe", explainSteps(k)}, {"wait", waitSteps(k)}, {"delete", deleteSteps(k)},
	} {
		t.Run(table.name, func(t *testing.T) { in.do(t, table.steps...) })
	}
	t.Run("get -w", func(t *testing.T) { testWatch(t, in, k) })
	t.Run("wait for what happens", func(t *testing.T) { testWait(t, in, k) })
}
