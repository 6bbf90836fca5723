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
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

const valkeyPolicy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few-replicas}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules: [{apiGroups: [valkey.io], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [valkeys]}]
  validations:
  - expression: object.spec.replicas <= 3
    message: at most three replicas here
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: few-replicas}
spec: {policyName: few-replicas, validationActions: [Deny]}
`

// Scenario P10: what rules over built-in kinds rules over ours too, with the rights that the manifests give.
func TestP10Admission(t *testing.T) {
	c := startCluster(t)
	c.serve(t, t.TempDir())
	c.awaitAPI(t)
	t.Run("a Terminating namespace", c.testTerminatingNamespace)
	t.Run("a ValidatingAdmissionPolicy", c.testPolicy)
	t.Run("a ResourceQuota", c.testQuota)
	// These stay, and nobody answers them any more.
	t.Run("webhooks", c.testWebhooks)
}

func (c *cluster) testTerminatingNamespace(t *testing.T) {
	// Nothing finishes the deletion here: there is no controller manager.
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "going"}}
	if err := errors.Join(c.client.Create(t.Context(), namespace), c.client.Delete(t.Context(), namespace)); err != nil {
		t.Fatal(err)
	}
	api := valkeyClient(t, c.admin).ValkeyV1alpha1()
	await(t, "the refusal", func(ctx context.Context) error {
		_, err := api.Valkeys("going").Create(ctx, &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}, metav1.CreateOptions{})
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "because it is being terminated") {
			return errors.Join(errors.New("not refused"), err)
		}
		return nil
	})
}

func (c *cluster) testPolicy(t *testing.T) {
	if output, err := c.kubectl(t, valkeyPolicy, "apply", "-f", "-"); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	api := valkeyClient(t, c.admin).ValkeyV1alpha1().Valkeys("default")
	large := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{GenerateName: "large-"}, Spec: v1alpha1.ValkeySpec{Replicas: 4}}
	large.Spec.Failover.Mode = v1alpha1.FailoverModeOperator
	await(t, "the refusal", func(ctx context.Context) error {
		_, err := api.Create(ctx, large, metav1.CreateOptions{})
		if err == nil || !strings.Contains(err.Error(), "at most three replicas here") {
			return errors.Join(errors.New("not refused"), err)
		}
		return nil
	})
	if _, err := api.Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "small"}}, metav1.CreateOptions{}); err != nil {
		t.Errorf("what the policy allows: %v", err)
	}
}

// hook answers admission reviews over TLS, and lets Kubernetes know its CA.
func hook(t *testing.T, answer func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) admissionregistrationv1.WebhookClientConfig {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = answer(review.Request)
		review.Response.UID = review.Request.UID
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	bundle, err := certutil.EncodeCertificates(server.Certificate())
	if err != nil {
		t.Fatal(err)
	}
	return admissionregistrationv1.WebhookClientConfig{URL: ptr.To(server.URL), CABundle: bundle}
}

func (c *cluster) testWebhooks(t *testing.T) {
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"valkey.io"}, APIVersions: []string{"v1alpha1"}, Resources: []string{"valkeys"}},
	}}
	none := admissionregistrationv1.SideEffectClassNone
	json := admissionv1.PatchTypeJSONPatch
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "label"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "label.example.org", Rules: rules, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: hook(t, func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				patch := []byte(`[{"op":"add","path":"/metadata/labels","value":{"hooked":"yes"}}]`)
				return &admissionv1.AdmissionResponse{Allowed: true, PatchType: &json, Patch: patch}
			}),
		}},
	}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "name"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "name.example.org", Rules: rules, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: hook(t, func(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				isAllowed := request.Name != "unwanted"
				return &admissionv1.AdmissionResponse{Allowed: isAllowed, Result: &metav1.Status{Message: "the hook does not want it"}}
			}),
		}},
	}
	if err := errors.Join(c.client.Create(t.Context(), mutating), c.client.Create(t.Context(), validating)); err != nil {
		t.Fatal(err)
	}
	api := valkeyClient(t, c.admin).ValkeyV1alpha1().Valkeys("default")
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	await(t, "both hooks", func(ctx context.Context) error {
		made, err := api.Create(ctx, &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "wanted"}}, dry)
		if err != nil || made.Labels["hooked"] != "yes" {
			return errors.Join(errors.New("not changed by the hook"), err)
		}
		_, err = api.Create(ctx, &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "unwanted"}}, dry)
		if err == nil || !strings.Contains(err.Error(), "the hook does not want it") {
			return errors.Join(errors.New("not refused by the hook"), err)
		}
		return nil
	})
}

func (c *cluster) testQuota(t *testing.T) {
	const namespace = "counted"
	hard := corev1.ResourceList{"count/valkeys.valkey.io": resource.MustParse("1"), "count/failoverrequests.valkey.io": resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "few"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	if err := errors.Join(c.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}), c.client.Create(t.Context(), quota)); err != nil {
		t.Fatal(err)
	}
	// There is no controller manager here that would count what is there.
	count := func(valkeys string) {
		used := corev1.ResourceList{"count/valkeys.valkey.io": resource.MustParse(valkeys), "count/failoverrequests.valkey.io": resource.MustParse("0")}
		quota.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: used}
		if err := c.client.Status().Update(t.Context(), quota); err != nil {
			t.Fatal(err)
		}
	}
	api := valkeyClient(t, c.admin).ValkeyV1alpha1()
	first := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "first"}}
	// What the API server has not heard of yet does not count: that it has is seen by a quota that is used up.
	count("1")
	await(t, "the quota is known", func(ctx context.Context) error {
		_, err := api.Valkeys(namespace).Create(ctx, first, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if !apierrors.IsForbidden(err) {
			return fmt.Errorf("not refused: %w", err)
		}
		return nil
	})
	count("0")
	await(t, "what the quota allows", func(ctx context.Context) error {
		_, err := api.Valkeys(namespace).Create(ctx, first, metav1.CreateOptions{})
		return err
	})
	await(t, "what is used", func(ctx context.Context) error {
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		if used := quota.Status.Used["count/valkeys.valkey.io"]; used.Value() != 1 {
			return fmt.Errorf("%s are used", used.String())
		}
		return nil
	})
	_, err := api.Valkeys(namespace).Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "second"}}, metav1.CreateOptions{})
	if want := "exceeded quota: few, requested: count/valkeys.valkey.io=1, used: count/valkeys.valkey.io=1, limited: count/valkeys.valkey.io=1"; !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("one more than the quota: %v", err)
	}
	// What is stored nowhere is not counted, and a subresource is no new object.
	for what, ask := range map[string]func() error{
		"a FailoverRequest": func() error {
			_, err := api.FailoverRequests(namespace).Create(t.Context(), &v1alpha1.FailoverRequest{Spec: v1alpha1.FailoverRequestSpec{Valkey: "first"}}, metav1.CreateOptions{})
			return err
		},
		"a failover": func() error {
			_, err := api.Valkeys(namespace).Failover(t.Context(), "first", &v1alpha1.Failover{}, metav1.CreateOptions{})
			return err
		},
	} {
		if err := ask(); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "spec.replicas is 0") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
