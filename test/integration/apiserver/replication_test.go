// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

const asTable = "application/json;as=Table;g=meta.k8s.io;v=v1"

// askReplication asks once, without the client's own repetitions.
func askReplication(namespace string) *rest.Request {
	return shared.client.ValkeyV1alpha1().RESTClient().Get().Namespace(namespace).Resource("valkeys").Name("cache").SubResource("replication").MaxRetries(0)
}

func replication(t *testing.T, namespace string) *v1alpha1.Replication {
	t.Helper()
	answer, err := shared.client.ValkeyV1alpha1().Valkeys(namespace).GetReplication(t.Context(), "cache", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestReplication(t *testing.T) {
	const namespace = "replication"
	set := startSet(t, namespace, v1alpha1.FailoverModeSentinel, 2, 3)
	set.Nodes[0].Command("SET", "a", "1")
	set.AwaitReplicas(t)

	answer := replication(t, namespace)
	if answer.Name != "cache" || answer.Namespace != namespace || answer.UID == "" || answer.Primary != "cache-0" || time.Since(answer.ObservedAt.Time) > time.Minute {
		t.Errorf("answer %+v", answer)
	}
	if len(answer.Members) != 3 || len(answer.Monitors) != 3 {
		t.Fatalf("%d members, %d views", len(answer.Members), len(answer.Monitors))
	}
	primary := answer.Members[0]
	if primary.Role != v1alpha1.RolePrimary || !primary.Synced || primary.Keys != 1 || primary.Offset == 0 || primary.ReplicationID == "" || primary.Address != set.Nodes[0].Address.String() {
		t.Errorf("primary %+v", primary)
	}
	for _, member := range answer.Members[1:] {
		if member.Role != v1alpha1.RoleReplica || !member.Synced || !member.LinkUp || member.ReplicaOf != primary.Address ||
			member.ReplicationID != primary.ReplicationID || member.Offset == 0 || member.Error != "" {
			t.Errorf("replica %+v", member)
		}
	}
	for _, view := range answer.Monitors {
		if !view.Registered || view.PrimaryAddress != primary.Address || view.Quorum != 2 || view.Error != "" {
			t.Errorf("view %+v", view)
		}
	}

	table := &metav1.Table{}
	if err := askReplication(namespace).SetHeader("Accept", asTable).Do(t.Context()).Into(table); err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 3 || len(table.ColumnDefinitions) != len(table.Rows[0].Cells) {
		t.Fatalf("table %+v", table)
	}
	cells := table.Rows[0].Cells
	if diff := cmp.Diff([]any{"cache-0", "primary", "", "", true}, cells[:5]); diff != "" || cells[6] != nil || cells[8] != "3/3" {
		t.Errorf("row %v: want (-), got (+):\n%s", cells, diff)
	}
	if cells := table.Rows[1].Cells; cells[1] != "replica" || cells[3] != "up" || cells[6] == nil || cells[8] != "0/3" {
		t.Errorf("row %v", cells)
	}
}

func TestReplicationWhileMembersAreAway(t *testing.T) {
	const namespace = "replication-away"
	set := startSet(t, namespace, v1alpha1.FailoverModeSentinel, 1, 3)
	set.Nodes[1].Kill()
	set.Sentinels[2].Kill()
	answer := replication(t, namespace)
	if member := answer.Members[1]; member.Role != v1alpha1.RoleUnknown || !strings.HasPrefix(member.Error, "Unreachable") || member.Synced || answer.Members[0].Error != "" {
		t.Errorf("members %+v", answer.Members)
	}
	if view := answer.Monitors[2]; view.Registered || view.Error != "Unreachable" {
		t.Errorf("view %+v", view)
	}
	table := &metav1.Table{}
	if err := askReplication(namespace).SetHeader("Accept", asTable).Do(t.Context()).Into(table); err != nil {
		t.Fatal(err)
	}
	// What nobody knows is not printed as a zero.
	if cells := table.Rows[1].Cells; cells[1] != "unknown" || cells[4] != nil || cells[5] != nil || cells[7] != nil || cells[9] == "" {
		t.Errorf("row %v", cells)
	}

	// The Sentinels still answer; that says nothing about the members.
	set.Nodes[0].Kill()
	var failed error
	valkeytest.Eventually(t, "the end of what is remembered", func(ctx context.Context) error {
		if failed = askReplication(namespace).Do(ctx).Error(); failed == nil {
			return errors.New("answered")
		}
		return nil
	})
	expect(t, failed, http.StatusServiceUnavailable, "Unreachable", "no member of the Valkey answers")
	if seconds, ok := apierrors.SuggestsClientDelay(failed); !ok || seconds == 0 {
		t.Errorf("no Retry-After: %v", failed)
	}
	if strings.Contains(failed.Error(), "pw-of-") {
		t.Errorf("a password is in the answer: %v", failed)
	}
}

func TestReplicationOfWhatIsNotThere(t *testing.T) {
	_, err := shared.client.ValkeyV1alpha1().Valkeys("replication-missing").GetReplication(t.Context(), "cache", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("a Valkey that does not exist: %v", err)
	}
	makeObjects(t, "replication-missing", v1alpha1.FailoverModeNone, 1, 0)
	expect(t, askReplication("replication-missing").Do(t.Context()).Error(), http.StatusServiceUnavailable, "", "cannot log in yet")
}

// Many callers at once are answered by one look.
func TestReplicationIsAskedOnce(t *testing.T) {
	const namespace = "replication-once"
	startSet(t, namespace, v1alpha1.FailoverModeNone, 0, 0)
	var callers sync.WaitGroup
	seen := make([]metav1.MicroTime, 20)
	for i := range seen {
		callers.Go(func() {
			answer, err := shared.client.ValkeyV1alpha1().Valkeys(namespace).GetReplication(t.Context(), "cache", metav1.GetOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			seen[i] = answer.ObservedAt
		})
	}
	callers.Wait()
	looks := map[int64]bool{}
	for _, at := range seen {
		looks[at.UnixMicro()] = true
	}
	if len(looks) > 3 { // one, if this machine is fast enough to ask twenty times in a second
		t.Errorf("%d callers caused %d looks", len(seen), len(looks))
	}
}
