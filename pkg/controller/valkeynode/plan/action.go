// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// Kind names a kind of child.
type Kind string

// The kinds of children.
const (
	KindStatefulSet Kind = "StatefulSet"
	KindDeployment  Kind = "Deployment"
	KindService     Kind = "Service"
	KindClaim       Kind = "PersistentVolumeClaim"
	KindConfigMap   Kind = "ConfigMap"
)

// Action is one thing to do: plain data, carried out by the controller, which decides nothing more. The actions of one plan do not depend on
// each other: one that fails does not stop the next. String never shows a secret.
type Action interface {
	String() string
	sealed()
}

// Apply makes a child as Config says.
type Apply struct {
	Kind   Kind
	Name   string
	Config runtime.ApplyConfiguration
	// New: nothing of that name exists, whoever it would belong to.
	New bool
}

// ReplacePod deletes the pod, which its workload then makes again as it should be. It is the only disruptive action.
type ReplacePod struct {
	Name string
	UID  types.UID
	// Why is for people.
	Why string
}

// SetConfig changes one directive of the running server. Each is sent alone, so that one that is refused does not hide the others.
type SetConfig struct {
	Key, Value string
}

// Listen changes where the running server listens and what it speaks, all at once.
type Listen struct {
	Settings valkeyconf.Config
	// Why is for people.
	Why string
}

// RefreshMounts marks the pod, which makes its kubelet look for changed Secrets and ConfigMaps at once instead of within a minute or two.
type RefreshMounts struct {
	Pod string
	UID types.UID
	// Mark is another one each time.
	Mark string
}

// LoadACL tells the server to load its ACL file.
type LoadACL struct {
	// Hash of the file that is wanted.
	Hash string
}

func (Apply) sealed()         {}
func (ReplacePod) sealed()    {}
func (SetConfig) sealed()     {}
func (Listen) sealed()        {}
func (RefreshMounts) sealed() {}
func (LoadACL) sealed()       {}

func (a Apply) String() string         { return fmt.Sprintf("apply %s %s", a.Kind, a.Name) }
func (a ReplacePod) String() string    { return fmt.Sprintf("replace pod %s (%s)", a.Name, a.Why) }
func (a SetConfig) String() string     { return "set " + a.Key }
func (a Listen) String() string        { return "listen: " + a.Why }
func (a RefreshMounts) String() string { return "refresh the mounts of pod " + a.Pod }
func (LoadACL) String() string         { return "load the ACL file" }

// Outcome is what became of an action.
type Outcome struct {
	Action Action
	Err    error
	// Refused are the server's own words when it refused what it was told. Err is set too.
	Refused string
	// ForNow: it lacked a right, which may come back, and is told again. Otherwise telling it again would change nothing.
	ForNow bool
	// Reported is how the server spells a directive that it accepted.
	Reported string
}
