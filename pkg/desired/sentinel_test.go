// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

func plainSet() *v1alpha1.ValkeySentinel {
	set := &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "watch", UID: "uid-watch"}}
	set.Spec.Replicas = 3
	return set
}

func fullSet() *v1alpha1.ValkeySentinel {
	set := plainSet()
	set.Spec.Image = "docker.io/valkey/valkey:9.1"
	set.Spec.Exporter = v1alpha1.ExporterSpec{Enabled: true}
	set.Spec.Persistence = &v1alpha1.SentinelPersistenceSpec{
		Capacity: resource.MustParse("64Mi"), StorageClassName: ptr.To("fast"), ReclaimPolicy: v1alpha1.ReclaimDelete,
	}
	set.Spec.PodLabels = map[string]string{"team": "shop", naming.LabelSentinel: "not-yours"}
	set.Spec.Scheduling.Node.Spread.Pods.Mode = v1alpha1.SpreadRequired
	return set
}

func TestSentinelStatefulSet(t *testing.T) {
	for name, in := range map[string]SentinelInput{
		"sentinel_statefulset_plain": {Set: plainSet(), AgentImage: "agent:1", Size: 3, Revision: "abc"},
		"sentinel_statefulset_full":  {Set: fullSet(), AgentImage: "agent:1", Size: 5, Revision: "abc"},
	} {
		t.Run(name, func(t *testing.T) {
			workload, err := SentinelStatefulSet(in)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name, workload)
		})
	}
}

func TestSentinelChildren(t *testing.T) {
	set := plainSet()
	golden(t, "sentinel_service", SentinelService(set))
	golden(t, "sentinel_role", SentinelRole(set))
	golden(t, "sentinel_rolebinding", SentinelRoleBinding(set, "valkey-system"))
	secret, err := SentinelBootSecret(set, boot.Sentinel{Set: "watch"}, "user default off\n")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "sentinel_boot_secret", secret)
}

func TestSentinelBudget(t *testing.T) {
	percent := intstr.FromString("50%")
	for name, c := range map[string]struct {
		size, needed int
		asked        *intstr.IntOrString
		want         intstr.IntOrString
	}{
		"of three one may go":                {3, 2, nil, intstr.FromInt32(1)},
		"of five two":                        {5, 3, nil, intstr.FromInt32(2)},
		"of four one":                        {4, 3, nil, intstr.FromInt32(1)},
		"a quorum above the majority counts": {5, 4, nil, intstr.FromInt32(1)},
		"one may always go, or no node could ever be drained": {3, 3, nil, intstr.FromInt32(1)},
		"what is asked for goes before":                       {3, 2, &percent, percent},
	} {
		t.Run(name, func(t *testing.T) {
			set := plainSet()
			set.Spec.PodDisruptionBudget.MaxUnavailable = c.asked
			if got := *SentinelBudget(set, c.size, c.needed).Spec.MaxUnavailable; got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	set := plainSet()
	set.Spec.PodDisruptionBudget.Mode = v1alpha1.PodDisruptionBudgetDisabled
	if SentinelBudget(set, 3, 2) != nil {
		t.Error("a budget although it is switched off")
	}
}

func TestSentinelRevisionChangesOnlyWithWhatNeedsARestart(t *testing.T) {
	base := SentinelRevision(plainSet().Spec, "users")
	for name, c := range map[string]struct {
		change func(*v1alpha1.ValkeySentinelSpec)
		users  string
		same   bool
	}{
		"nothing":          {func(*v1alpha1.ValkeySentinelSpec) {}, "users", true},
		"more Sentinels":   {func(s *v1alpha1.ValkeySentinelSpec) { s.Replicas = 5 }, "users", true},
		"another selector": {func(s *v1alpha1.ValkeySentinelSpec) { s.ValkeySelector = &metav1.LabelSelector{} }, "users", true},
		"another budget": {func(s *v1alpha1.ValkeySentinelSpec) {
			s.PodDisruptionBudget.Mode = v1alpha1.PodDisruptionBudgetDisabled
		}, "users", true},
		"the default image": {func(s *v1alpha1.ValkeySentinelSpec) { s.Image = v1alpha1.DefaultImage }, "users", true},
		"an image":          {func(s *v1alpha1.ValkeySentinelSpec) { s.Image = "another:1" }, "users", false},
		"configuration":     {func(s *v1alpha1.ValkeySentinelSpec) { s.Config = map[string]string{"loglevel": "debug"} }, "users", false},
		"users":             {func(*v1alpha1.ValkeySentinelSpec) {}, "other users", false},
		"resources": {func(s *v1alpha1.ValkeySentinelSpec) {
			s.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		}, "users", false},
	} {
		t.Run(name, func(t *testing.T) {
			spec := plainSet().Spec
			c.change(&spec)
			if got := SentinelRevision(spec, c.users); (got == base) != c.same {
				t.Errorf("revision %s against %s, want same: %v", got, base, c.same)
			}
		})
	}
}

func TestSentinelACL(t *testing.T) {
	system := map[string]string{naming.UserOperator: "operator-password", naming.UserPeer: "peer-password"}
	withPassword := v1alpha1.UserSpec{
		Name: "app", PasswordSecret: &v1alpha1.PasswordSecretRef{Name: "app-password"}, Commands: &v1alpha1.UserCommands{Allow: []string{"ping"}},
	}
	for name, c := range map[string]struct {
		in          SentinelACLInput
		want        []string
		wantNot     []string
		wantMissing int
	}{
		"without users anybody may find the primary": {
			SentinelACLInput{}, []string{"user default on sanitize-payload nopass", "+sentinel|get-master-addr-by-name"}, []string{"+sentinel|failover nopass"}, 0},
		"with users the default user is off": {
			SentinelACLInput{Users: []v1alpha1.UserSpec{withPassword}, Secrets: map[string]map[string][]byte{"app-password": {"p": []byte("secret")}}},
			[]string{"user default off", "user app on", "+ping"}, []string{"secret"}, 0},
		"a missing Secret locks a new user out": {
			SentinelACLInput{Users: []v1alpha1.UserSpec{withPassword}}, []string{"user app off"}, nil, 1},
		"a missing Secret changes nothing for one that was there": {
			SentinelACLInput{Users: []v1alpha1.UserSpec{withPassword}, Previous: "user app on sanitize-payload #" + strings.Repeat("a", 64) + " resetchannels -@all +ping\n"},
			[]string{"user app on sanitize-payload #" + strings.Repeat("a", 64)}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c.in.SystemPasswords = system
			acl, err := NewSentinelACL(c.in)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range append(c.want, "user _operator on", "user _peer on") {
				if !strings.Contains(acl.File, part) {
					t.Errorf("no %q in\n%s", part, acl.File)
				}
			}
			for _, part := range append(c.wantNot, "operator-password") {
				if strings.Contains(acl.File, part) {
					t.Errorf("%q in\n%s", part, acl.File)
				}
			}
			if len(acl.Missing) != c.wantMissing || strings.Contains(acl.Declared, "_operator") {
				t.Errorf("missing %v; declared:\n%s", acl.Missing, acl.Declared)
			}
		})
	}
}
