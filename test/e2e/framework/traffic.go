// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// Traffic asks for a Valkey, and for all of its namespace, and writes to it, all the time, until it is ended. It tells apart answers that are
// the truth, those that ask to come again, and those that are wrong.
type Traffic struct {
	client rest.Interface
	path   string
	name   string
	stop   context.CancelFunc
	done   sync.WaitGroup

	mu       sync.Mutex
	answered int
	// refused counts what was not answered, by what there was instead.
	refused     map[string]int
	lastRefused time.Time
	wrong       []string
}

// TrafficOptions change Traffic.
type TrafficOptions struct {
	// Retries is how often a request that is asked to come again does so, as client-go does by itself up to 10 times.
	Retries int
	// Writes are sent too.
	Writes bool
	// Clients at a time. Default 4.
	Clients int
	// Patience of one request. Default 10 s.
	Patience time.Duration
}

// NewTraffic begins to ask for a Valkey that is there.
func NewTraffic(t *testing.T, config *rest.Config, namespace, name string, o TrafficOptions) *Traffic {
	t.Helper()
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &v1alpha1.SchemeGroupVersion, "/apis"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.QPS = -1
	client, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	if o.Clients == 0 {
		o.Clients = 4
	}
	if o.Patience == 0 {
		o.Patience = 10 * time.Second
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	traffic := &Traffic{
		client: client, path: "/apis/valkey.io/v1alpha1/namespaces/" + namespace + "/valkeys", name: name,
		stop: stop, refused: map[string]int{},
	}
	t.Cleanup(stop)
	for range o.Clients {
		traffic.done.Go(func() {
			for ctx.Err() == nil {
				traffic.round(ctx, o)
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	return traffic
}

func (a *Traffic) round(ctx context.Context, o TrafficOptions) {
	object := a.path + "/" + a.name
	a.note(ctx, "GET "+object, a.send(ctx, o, a.client.Get().AbsPath(object), nil))
	a.note(ctx, "LIST "+a.path, a.send(ctx, o, a.client.Get().AbsPath(a.path), func(body []byte) error {
		var list v1alpha1.ValkeyList
		if err := json.Unmarshal(body, &list); err != nil {
			return err
		}
		if len(list.Items) == 0 {
			return errors.New("the list is empty")
		}
		return nil
	}))
	if o.Writes {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"traffic":"%d"}}}`, time.Now().UnixNano())
		a.note(ctx, "PATCH "+object, a.send(ctx, o, a.client.Patch(types.MergePatchType).AbsPath(object).Body(patch), nil))
	}
}

func (a *Traffic) send(ctx context.Context, o TrafficOptions, request *rest.Request, check func([]byte) error) error {
	ctx, cancel := context.WithTimeout(ctx, o.Patience)
	defer cancel()
	body, err := request.MaxRetries(o.Retries).Do(ctx).Raw()
	if err == nil && check != nil {
		err = check(body)
	}
	return err
}

// note counts an answer. What fails because the traffic ends is none.
func (a *Traffic) note(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.answered++
		return
	}
	if kind := refusal(err); kind != "" {
		a.refused[kind]++
		a.lastRefused = time.Now()
		return
	}
	a.wrong = append(a.wrong, what+": "+err.Error())
}

// refusal is empty for an answer that is wrong: only a server's own failure, 429 with a time, and no answer at all are honest when something
// is away. Anything else says something about the object.
func refusal(err error) string {
	var status *apierrors.StatusError
	switch {
	case errors.As(err, &status):
		code := status.ErrStatus.Code
		if code >= http.StatusInternalServerError || code == http.StatusTooManyRequests && status.ErrStatus.Details.RetryAfterSeconds > 0 {
			return fmt.Sprint(code)
		}
		return ""
	case errors.Is(err, context.DeadlineExceeded), strings.Contains(err.Error(), "would exceed context deadline"):
		return "no answer"
	}
	return ""
}

// Answered is how many requests were answered with the truth.
func (a *Traffic) Answered() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.answered
}

// QuietFor is how long ago the last request was refused.
func (a *Traffic) QuietFor() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Since(a.lastRefused)
}

// Refused is how many requests were refused with one code.
func (a *Traffic) Refused(code int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused[fmt.Sprint(code)]
}

// End ends it, fails the test over every wrong answer, and returns how many requests were refused.
func (a *Traffic) End(t *testing.T) (refused int) {
	t.Helper()
	a.stop()
	a.done.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	t.Logf("%d requests answered, refused: %v, wrong: %d", a.answered, a.refused, len(a.wrong))
	for i, wrong := range a.wrong {
		if i < 5 {
			t.Errorf("a wrong answer: %s", wrong)
		}
	}
	for _, count := range a.refused {
		refused += count
	}
	return refused
}
