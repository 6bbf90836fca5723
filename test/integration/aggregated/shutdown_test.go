// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package aggregated

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// traffic asks for what is there through the aggregator, without a client's own second attempts, until it is ended.
type traffic struct {
	stop     context.CancelFunc
	done     sync.WaitGroup
	answered atomic.Int64

	mu sync.Mutex
	// refused counts the answers that ask to come again, by what they say.
	refused map[string]int
	// wrong are all other answers that are not the truth.
	wrong []string
}

func (c *cluster) traffic(t *testing.T, object string) *traffic {
	t.Helper()
	config := rest.CopyConfig(c.admin)
	config.GroupVersion, config.APIPath = &v1alpha1.SchemeGroupVersion, "/apis"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	asked := &traffic{stop: stop, refused: map[string]int{}}
	t.Cleanup(stop)
	for range 4 {
		asked.done.Go(func() {
			for ctx.Err() == nil {
				asked.one(ctx, client, object)
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	return asked
}

func (a *traffic) one(ctx context.Context, client rest.Interface, object string) {
	base := "/apis/valkey.io/v1alpha1/namespaces/default/valkeys"
	for _, path := range []string{base, base + "/" + object} {
		request := client.Get().AbsPath(path).MaxRetries(0)
		body, err := request.Do(ctx).Raw()
		if ctx.Err() != nil {
			return
		}
		var list v1alpha1.ValkeyList
		if err == nil && path == base {
			err = json.Unmarshal(body, &list)
			if err == nil && len(list.Items) == 0 {
				err = errors.New("the list is empty")
			}
		}
		a.note(path, err)
	}
}

func (a *traffic) note(path string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var status *apierrors.StatusError
	code := 0
	if errors.As(err, &status) {
		code = int(status.ErrStatus.Code)
	}
	switch {
	case err == nil:
		a.answered.Add(1)
	case code == http.StatusServiceUnavailable || code == http.StatusTooManyRequests && status.ErrStatus.Details.RetryAfterSeconds > 0:
		a.refused[fmt.Sprint(code)]++
	default:
		a.wrong = append(a.wrong, fmt.Sprintf("%s: %d %v", path, code, err))
	}
}

// end ends it and fails the test over every answer that was neither the truth nor a request to come again.
func (a *traffic) end(t *testing.T) (refused int) {
	t.Helper()
	a.stop()
	a.done.Wait()
	t.Logf("%d requests answered, to come again later: %v", a.answered.Load(), a.refused)
	for i, wrong := range a.wrong {
		if i < 5 {
			t.Error(wrong)
		}
	}
	if len(a.wrong) > 0 {
		t.Errorf("%d wrong answers", len(a.wrong))
	}
	for _, count := range a.refused {
		refused += count
	}
	return refused
}

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
	asked := c.traffic(t, "kept")
	await(t, "requests", func(context.Context) error {
		if asked.answered.Load() < 100 {
			return errors.New("too few")
		}
		return nil
	})

	if took := first.terminate(t); took > 5*time.Second {
		t.Errorf("it took %s to stop", took)
	} else {
		t.Logf("stopped after %s", took)
	}
	begin, before := time.Now(), asked.answered.Load()
	c.start(t, dataDir, flags...)
	await(t, "requests after the restart", func(context.Context) error {
		if asked.answered.Load() < before+100 {
			return errors.New("too few")
		}
		return nil
	})
	t.Logf("served again %s after the start", time.Since(begin))
	asked.end(t)
}
