// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/klog/v2"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
)

// lookTimeout bounds what a write waits for the sight of other objects. It goes on without.
const lookTimeout = 2 * time.Second

// uniqueMonitor refuses a monitor name that another Valkey of the namespace has: the Sentinels would mix the two up.
type uniqueMonitor struct {
	others   Others
	monitors *MonitorNames
}

func (u uniqueMonitor) errors(ctx context.Context, object, old *api.Valkey) field.ErrorList {
	key := monitorKey(object)
	if key == "" || old != nil && monitorKey(old) == key {
		return nil
	}
	path := field.NewPath("spec", "failover", "sentinel", "monitorName")
	holder, err := u.holder(ctx, key, object.Name)
	if err != nil {
		// Sentinels are told apart by name: better to let two in, and have the controller leave one alone, than to let nobody in.
		klog.FromContext(ctx).Error(err, "A monitor name was not checked", "namespace", object.Namespace, "valkey", object.Name)
		warning.AddWarning(ctx, "", path.String()+": could not be compared with the names that other Valkeys use")
		return nil
	}
	if holder == "" {
		return nil
	}
	_, name, _ := strings.Cut(key, "/")
	return field.ErrorList{field.Invalid(path, name, fmt.Sprintf(
		"is the name under which Valkey %s of this namespace is monitored: set another monitorName", holder))}
}

// holder is another Valkey that is monitored under the name; empty when there is none.
func (u uniqueMonitor) holder(ctx context.Context, key, self string) (string, error) {
	if write, ok := ctx.Value(writeKey{}).(*Write); ok {
		if err := write.hold(ctx, key); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	holder, err := u.holderAt(ctx, key, self, false)
	if holder == "" || err != nil {
		return "", err
	}
	// The cache may not have seen yet that the holder is gone.
	return u.holderAt(ctx, key, self, true)
}

func (u uniqueMonitor) holderAt(ctx context.Context, key, self string, upToDate bool) (string, error) {
	holders, err := u.others.HoldersOf(ctx, key, upToDate)
	if err != nil {
		return "", err
	}
	holders = slices.DeleteFunc(holders, func(name string) bool { return name == self })
	if len(holders) == 0 {
		return "", nil
	}
	return slices.Min(holders), nil
}
