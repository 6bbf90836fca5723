// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/plugin/cluster"
	"github.com/valkeykube/valkeykube/pkg/plugin/credential"
	"github.com/valkeykube/valkeykube/pkg/plugin/screen"
)

// login is an account, and what the caller may know of it.
type login struct {
	credential.Account
	// Readable is whether the caller may read the Secret: yes, no, or unknown. Empty without one.
	Readable string `json:"readable,omitempty"`
	// Password is only here where it is to be shown.
	Password string `json:"password,omitempty"`
	// Problem says why there is none.
	Problem string `json:"problem,omitempty"`
}

func (a *App) credentials() *cobra.Command {
	var system, show bool
	cmd := &cobra.Command{
		Use:   "credentials VALKEY",
		Short: "List the users of a Valkey, and where their passwords are",
		Long: `List the users that can log in to a Valkey's servers and to the Sentinels that monitor it, the Secret that holds the password of
each, and whether you may read it. Passwords are read and printed with --show-passwords only.`,
		Example: `  kubectl valkey credentials cache
  kubectl valkey credentials cache --show-passwords -o json | jq -r '.[] | select(.user == "app").password'`,
		Args:              oneName("Valkey"),
		ValidArgsFunction: a.completeValkey(),
	}
	cmd.Flags().BoolVar(&system, "system", false, "List the product's own users, too.")
	cmd.Flags().BoolVar(&show, "show-passwords", false, "Read the passwords that you may read, and print them.")
	out := newOutput(cmd, asTable)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		clients, err := a.connectTo()
		if err != nil {
			return err
		}
		found, err := a.logins(cmd.Context(), clients, args[0], system, show)
		if err != nil {
			return err
		}
		if !out.forPeople() {
			return out.print(a.Out, found)
		}
		a.printLogins(found, show)
		return nil
	}
	return cmd
}

func (a *App) logins(ctx context.Context, clients *cluster.Clients, name string, system, show bool) ([]login, error) {
	valkey, err := clients.Valkey(ctx, name)
	if err != nil {
		return nil, err
	}
	accounts := credential.OfValkey(valkey, system)
	if monitoring := valkey.Status.Monitoring; monitoring != nil && monitoring.Sentinel != "" {
		set, err := clients.Sentinel(ctx, monitoring.Sentinel)
		switch {
		case err == nil:
			accounts = append(accounts, credential.OfSentinel(set, system)...)
		case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
			return nil, err
		}
	}
	reader, readable := credential.Reader{Kube: clients.Kube, Namespace: clients.Namespace}, map[string]string{}
	found := make([]login, 0, len(accounts))
	for _, account := range accounts {
		l := login{Account: account}
		if account.Secret != "" {
			if readable[account.Secret] == "" {
				readable[account.Secret] = mayRead(ctx, clients, account.Secret)
			}
			l.Readable = readable[account.Secret]
			if show {
				if l.Password, err = reader.Password(ctx, account); err != nil {
					l.Problem = err.Error()
				}
			}
		}
		found = append(found, l)
	}
	return found, nil
}

// mayRead asks whether the caller may read a Secret, without reading it.
func mayRead(ctx context.Context, clients *cluster.Clients, secret string) string {
	review, err := clients.Kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: clients.Namespace, Verb: "get", Resource: "secrets", Name: secret,
		}},
	}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return "unknown"
	case review.Status.Allowed:
		return "yes"
	}
	return "no"
}

func (a *App) printLogins(found []login, show bool) {
	heading := []string{"PLANE", "USER", "SECRET", "KEYS", "READABLE"}
	if show {
		heading = append(heading, "PASSWORD")
	}
	table := screen.Table{Heading: append(heading, "REMARK")}
	for _, l := range found {
		keys := strings.Join(l.Keys, ",")
		if l.Secret != "" && keys == "" {
			keys = "all"
		}
		row := []any{string(l.Plane), l.User, l.Secret, keys, l.Readable}
		if show {
			row = append(row, l.Password)
		}
		table.Row(append(row, remark(l))...)
	}
	table.Write(a.Out, "")
}

func remark(l login) string {
	switch {
	case l.Problem != "":
		return l.Problem
	case l.Unusable != "":
		return "cannot log in: " + l.Unusable
	case l.Open:
		return "no password is needed"
	case l.System:
		return "the product's own"
	}
	return ""
}
