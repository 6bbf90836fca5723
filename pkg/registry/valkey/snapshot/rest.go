// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/live"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/topology/view"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// Path is what stands behind "proxy" in the URL: the aggregator cuts streams of other names after a minute.
const Path = "snapshot"

// CauseFailed is the cause for each member that could not begin to send.
const CauseFailed metav1.CauseType = "SnapshotFailed"

// retryAfterSeconds is when to ask again while another snapshot is being taken.
const retryAfterSeconds = 10

// REST is valkeys/{name}/proxy.
type REST struct {
	live.Dependencies

	mu sync.Mutex
	// taking are the Valkeys of which a snapshot is being taken: each one is a fork of the server that sends it.
	taking map[types.UID]bool
}

// NewREST makes the endpoint.
func NewREST(dependencies live.Dependencies) *REST {
	return &REST{Dependencies: dependencies, taking: map[types.UID]bool{}}
}

var (
	_ rest.Connecter       = (*REST)(nil)
	_ rest.StorageMetadata = (*REST)(nil)
)

// New is the parent's kind: what is sent has none.
func (r *REST) New() runtime.Object { return &api.Valkey{} }

// Destroy does nothing: the stores belong to the kinds.
func (r *REST) Destroy() {}

// ConnectMethods are the methods that are served.
func (r *REST) ConnectMethods() []string { return []string{http.MethodGet} }

// NewConnectOptions says that there are no parameters, and that a path follows.
func (r *REST) NewConnectOptions() (options runtime.Object, subpath bool, key string) {
	return nil, true, ""
}

// ProducesMIMETypes is for the documentation.
func (r *REST) ProducesMIMETypes(string) []string { return []string{contentType} }

// ProducesObject is for the documentation.
func (r *REST) ProducesObject(string) any { return "" }

// Connect finds out who can send the dataset, and has it begin. What comes is sent by the handler.
func (r *REST) Connect(ctx context.Context, name string, _ runtime.Object, _ rest.Responder) (http.Handler, error) {
	if info, ok := genericapirequest.RequestInfoFrom(ctx); !ok || len(info.Parts) != 4 || info.Parts[3] != Path {
		return nil, apierrors.NewGenericServerResponse(http.StatusNotFound, "get", resource, name,
			`below "proxy" there is only "`+Path+`"`, 0, true)
	}
	valkey, err := r.Objects.Valkey(ctx, name)
	if err != nil {
		return nil, err
	}
	if !r.begin(valkey.UID) {
		return nil, apierrors.NewTooManyRequests("a snapshot of the Valkey is being taken; each is a copy of the server's process", retryAfterSeconds)
	}
	source, err := r.source(ctx, valkey)
	if err != nil {
		r.end(valkey.UID)
		return nil, err
	}
	return &stream{valkey: valkey, source: source, clock: r.Clock, patience: clientPatience, done: func() { r.end(valkey.UID) }}, nil
}

func (r *REST) begin(valkey types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taking[valkey] {
		return false
	}
	r.taking[valkey] = true
	return true
}

func (r *REST) end(valkey types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.taking, valkey)
}

// source is a member that has begun to send.
type source struct {
	node string
	role topology.Role
	io.ReadCloser
}

// source asks those that hold the dataset, in order, until one begins to send.
func (r *REST) source(ctx context.Context, valkey *v1alpha1.Valkey) (source, error) {
	subject, err := r.Subject(ctx, valkey)
	if err != nil {
		return source{}, err
	}
	snapshot := inspect.Inspector{Clients: r.Clients}.Look(ctx, subject)
	if !live.AnyMemberAnswered(snapshot) {
		return source{}, live.Unavailable(resource, valkey.Name, "no member of the Valkey answers", live.UnreachableCauses(snapshot))
	}
	targets := map[string]valkeyclient.Target{}
	for _, member := range subject.Members {
		targets[member.Target.Name] = member.Target
	}
	var causes []metav1.StatusCause
	for _, member := range candidates(snapshot, snapshot.Primary(subject.Monitor).Name) {
		content, err := r.Snapshots.Snapshot(ctx, targets[member.Name])
		if err == nil {
			return source{member.Name, member.Role, content}, nil
		}
		causes = append(causes, metav1.StatusCause{Type: CauseFailed, Message: err.Error()})
	}
	causes = append(causes, live.UnreachableCauses(snapshot)...)
	texts := make([]string, 0, len(causes))
	for _, cause := range causes {
		texts = append(texts, cause.Message)
	}
	return source{}, live.Unavailable(resource, valkey.Name, "no member can send the dataset now: "+strings.Join(texts, "; "), causes)
}

// candidates are the members that hold the dataset: synced replicas first, the furthest of them first, and then the primary, which has
// other things to do.
func candidates(snapshot topology.Snapshot, primary string) []topology.Member {
	leader, _ := snapshot.Member(primary)
	var fit []topology.Member
	for _, member := range snapshot.Members {
		if view.Synced(member, leader) {
			fit = append(fit, member)
		}
	}
	isPrimary := func(m topology.Member) int {
		if m.Name == primary {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(fit, func(a, b topology.Member) int {
		return cmp.Or(cmp.Compare(isPrimary(a), isPrimary(b)), cmp.Compare(b.Offset, a.Offset))
	})
	return fit
}

var resource = v1alpha1.Resource("valkeys")

// describe is for logs.
func (s source) describe() string { return fmt.Sprintf("%s (%s)", s.node, s.role) }
