// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// rotation is a set of two with a user whose Secret changes, and what the ACL file becomes, pass by pass.
type rotation struct {
	t *testing.T
	o Observed
}

func newRotation(t *testing.T, passwords ...string) *rotation {
	o := given(modeOperator, 1)
	o.Valkey.Spec.Users = []v1alpha1.UserSpec{{Name: "app", PasswordSecret: &v1alpha1.PasswordSecretRef{Name: "app"}}}
	o.Objects.Passwords = &corev1.Secret{Data: map[string][]byte{}}
	for _, user := range naming.SystemUsers() {
		o.Objects.Passwords.Data[user] = []byte("of" + user)
	}
	r := &rotation{t: t, o: o}
	r.holds(passwords...)
	r.applied(0, true)
	r.applied(1, true)
	r.pass()
	return r
}

// holds makes the user's Secret hold the passwords, each under a key of its own.
func (r *rotation) holds(passwords ...string) {
	data := map[string][]byte{}
	for i, password := range passwords {
		data[string(rune('a'+i))] = []byte(password)
	}
	r.o.Objects.UserSecrets = map[string]*corev1.Secret{"app": {Data: data}}
}

func (r *rotation) applied(node int, is bool) {
	condition := metav1.Condition{Type: v1alpha1.ConditionACLApplied, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonApplying}
	if is {
		condition.Status, condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonAsExpected
	}
	meta.SetStatusCondition(&r.o.Nodes[node].Object.Status.Conditions, condition)
}

// pass plans, and takes the file over that is planned.
func (r *rotation) pass() {
	p := compute(r.o, []step{{name: "acl", decide: stepACL}}, desired.IsApplied)
	for _, action := range p.Actions {
		if apply, is := action.(Apply); is {
			var secret corev1.Secret
			if err := json.Unmarshal([]byte(encoded(r.t, apply.Config)), &secret); err != nil {
				r.t.Fatal(err)
			}
			secret.UID = "acl"
			r.o.Objects.ACL = &secret
		}
	}
	r.o.Memory = Remember(r.o, p, nil)
}

func (r *rotation) after(d time.Duration) {
	r.o.Now = r.o.Now.Add(d)
	r.pass()
}

// want compares the passwords that are valid.
func (r *rotation) want(when string, passwords ...string) {
	r.t.Helper()
	users, err := valkeyconf.ParseACL(string(r.o.Objects.ACL.Data[naming.KeyACL]))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, user := range users {
		if user.Name != "app" {
			continue
		}
		valid := strings.Join(user.PasswordHashes, " ")
		if len(user.PasswordHashes) != len(passwords) {
			r.t.Errorf("%s: %d passwords are valid, want %v", when, len(user.PasswordHashes), passwords)
		}
		for _, password := range passwords {
			if !strings.Contains(valid, valkeyconf.HashPassword(password)) {
				r.t.Errorf("%s: %s is not valid", when, password)
			}
		}
	}
}

func TestAReplacedPasswordStaysUntilEveryServerKnowsTheNewOne(t *testing.T) {
	r := newRotation(t, "old")
	r.want("at first", "old")
	r.holds("new")
	r.pass()
	r.want("at once", "old", "new")
	r.after(time.Second) // the nodes' word is still about the file before
	r.want("while nobody can know it", "old", "new")
	r.applied(1, false)
	r.after(overlapSettles)
	r.want("while a server has not loaded it", "old", "new")
	r.applied(1, true)
	r.after(time.Second)
	r.want("when all have", "new")
	if !r.o.Memory.OverlapSince.IsZero() {
		t.Error("the overlap has no end")
	}
}

func TestAServerThatNeverLoadsTheFileKeepsNoPasswordValid(t *testing.T) {
	r := newRotation(t, "old")
	r.applied(1, false)
	r.holds("new")
	r.pass()
	r.after(overlapLongest - time.Second)
	r.want("before its time is up", "old", "new")
	r.after(time.Second)
	r.want("when its time is up", "new")
	r.after(time.Second)
	r.want("and later", "new")
}

func TestAPasswordThatIsTakenOutGoesAtOnce(t *testing.T) {
	r := newRotation(t, "old", "new")
	r.holds("new")
	r.pass()
	r.want("at once", "new")
}

func TestAUserThatIsLockedOutIsSoAtOnce(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.UserSpec){
		"disabled":  func(u *v1alpha1.UserSpec) { no := false; u.Enabled = &no },
		"resetpass": func(u *v1alpha1.UserSpec) { u.ResetPass = true },
	} {
		r := newRotation(t, "old")
		change(&r.o.Valkey.Spec.Users[0])
		r.holds("new")
		r.pass()
		if text := string(r.o.Objects.ACL.Data[naming.KeyACL]); strings.Contains(text, valkeyconf.HashPassword("old")) {
			t.Errorf("%s: the old password is still valid", name)
		}
	}
}
