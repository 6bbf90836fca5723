// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package aggregated

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// One server with an embedded etcd is away while it restarts. Nothing may look as if objects were gone, watches end in order, and it does
// not take longer than it must.
func TestRestartUnderRequests(t *testing.T) {
	c := startCluster(t)
	dataDir := t.TempDir()
	flags := deploymentFlags(t, manifests+"/apiserver/deployment.yaml", "--shutdown-")
	first := c.start(t, dataDir, flags...)
	c.awaitAPI(t)
	api := valkeyClient(t, c.admin).ValkeyV1alpha1().Valkeys("default")
	if _, err := api.Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		watch, err := api.Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer watch.Stop()
	}
	asked := framework.NewTraffic(t, c.admin, "default", "kept", framework.TrafficOptions{})
	await(t, "requests", func(context.Context) error {
		if asked.Answered() < 100 {
			return errors.New("too few")
		}
		return nil
	})

	if took := first.terminate(t); took > 5*time.Second {
		t.Errorf("it took %s to stop", took)
	} else {
		t.Logf("stopped after %s", took)
	}
	begin, before := time.Now(), asked.Answered()
	c.start(t, dataDir, flags...)
	await(t, "requests after the restart", func(context.Context) error {
		if asked.Answered() < before+100 {
			return errors.New("too few")
		}
		return nil
	})
	t.Logf("served again %s after the start", time.Since(begin))
	refused := asked.End(t)
	if told := asked.Refused(http.StatusServiceUnavailable) + asked.Refused(http.StatusTooManyRequests); told != refused || refused == 0 {
		t.Errorf("%d requests were refused, %d of them as they should", refused, told)
	}
}
