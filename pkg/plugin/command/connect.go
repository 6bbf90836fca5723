// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/plugin/cluster"
	"github.com/valkeykube/valkeykube/pkg/plugin/credential"
	"github.com/valkeykube/valkeykube/pkg/plugin/screen"
	"github.com/valkeykube/valkeykube/pkg/plugin/settings"
)

// connectFlags are those of the command.
type connectFlags struct {
	client, via, user, domain string
	show                      bool
}

func (a *App) connect() *cobra.Command {
	flags := connectFlags{}
	clients := append(settings.Libraries(), "all")
	cmd := &cobra.Command{
		Use:   "connect VALKEY",
		Short: "Print how an application connects to a Valkey",
		Long: `Print how an application in the cluster connects to a Valkey: addresses, the name to ask Sentinels for, the user, and where its
password is. With --client, code for a client library: ` + strings.Join(settings.Libraries(), ", ") + `.

Through the Sentinels a client finds the new primary by itself, also while the product's controller is away. Through the write
Service it only has to connect again. The password is a variable of the environment in what is printed, unless --show-password.

Where the Valkey has TLS alone, the code speaks it, and the authority of the servers is read from a file that the application's pod
mounts; where plaintext is served beside it, the code is that for plaintext, and it is said where TLS is.`,
		Example: `  kubectl valkey connect cache
  kubectl valkey connect cache --client valkey-go
  kubectl valkey connect cache --client node-redis --via service --login app`,
		Args:              oneName("Valkey"),
		ValidArgsFunction: a.completeValkey(),
	}
	cmd.Flags().StringVar(&flags.client, "client", "", "Client library, or all.")
	cmd.Flags().StringVar(&flags.via, "via", "", "How to find the primary: sentinel or service. Default: sentinel where Sentinels monitor the Valkey and the library can.")
	cmd.Flags().StringVarP(&flags.user, "login", "l", "", "User to log in as. Default: the default user if it can log in, else the first of the spec.")
	cmd.Flags().BoolVar(&flags.show, "show-password", false, "Read the password, if you may, and print it.")
	cmd.Flags().StringVar(&flags.domain, "cluster-domain", "", "DNS domain of the cluster. Default: as in the primary's address.")
	_ = cmd.RegisterFlagCompletionFunc("client", cobra.FixedCompletions(clients, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("via", cobra.FixedCompletions([]string{string(settings.ViaSentinel), string(settings.ViaService)}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("login", a.completeUser())
	out := newOutput(cmd, asTable)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		if flags.via != "" && flags.via != string(settings.ViaSentinel) && flags.via != string(settings.ViaService) {
			return usagef("unknown way %q: use sentinel or service", flags.via)
		}
		if flags.client != "" && !slices.Contains(clients, flags.client) {
			return usagef("unknown client %q: use %s", flags.client, strings.Join(clients, ", "))
		}
		if flags.client != "" && !out.forPeople() {
			return usagef("not together: --client and -o %s", out.form)
		}
		clients, err := a.connectTo()
		if err != nil {
			return err
		}
		found, err := a.settingsOf(cmd.Context(), clients, args[0], flags)
		switch {
		case err != nil:
			return err
		case !out.forPeople():
			return out.print(a.Out, found)
		case flags.client == "":
			a.printSettings(found, clients.Namespace)
			return nil
		}
		return a.printCode(found, flags)
	}
	return cmd
}

func (a *App) settingsOf(ctx context.Context, clients *cluster.Clients, name string, flags connectFlags) (settings.Settings, error) {
	none := settings.Settings{}
	valkey, err := clients.Valkey(ctx, name)
	if err != nil {
		return none, err
	}
	var set *v1alpha1.ValkeySentinel
	if monitoring := valkey.Status.Monitoring; monitoring != nil && monitoring.Sentinel != "" {
		if set, err = clients.Sentinel(ctx, monitoring.Sentinel); err != nil && !apierrors.IsNotFound(err) {
			return none, err
		}
	}
	accounts := credential.OfValkey(valkey, false)
	account, _ := credential.Preferred(accounts)
	if flags.user != "" {
		named, found := credential.Named(accounts, flags.user)
		if !found {
			return none, usagef("Valkey %s has no user %q", name, flags.user)
		}
		account = named
	}
	domain := flags.domain
	if domain == "" {
		domain = settings.DomainOf(valkey)
	}
	s := settings.Of(valkey, set, account, domain)
	if !flags.show {
		return s, nil
	}
	reader := credential.Reader{Kube: clients.Kube, Namespace: clients.Namespace}
	if s.Secret != "" {
		if s.Password, err = reader.Password(ctx, account); err != nil {
			return none, err
		}
	}
	if s.SentinelSecret != "" {
		if account, ok := credential.Named(credential.OfSentinel(set, false), s.SentinelUser); ok {
			s.SentinelPassword, err = reader.Password(ctx, account)
		}
	}
	return s, err
}

func (a *App) printSettings(s settings.Settings, namespace string) {
	table := screen.Table{}
	table.Row("Write", s.Write.String(), "the primary")
	table.Row("Read", s.Read.String(), "the replicas; they may lag behind")
	for i, sentinel := range s.Sentinels {
		title := ""
		if i == 0 {
			title = "Sentinels"
		}
		table.Row(title, sentinel.String())
	}
	if s.Monitor != "" {
		table.Row("Ask for", s.Monitor, "the name of the primary, for Sentinel clients")
	}
	user := func(title, user, secret, key, password string) {
		if user == "" {
			table.Row(title, "none", "no login is needed")
			return
		}
		table.Row(title, user)
		switch {
		case password != "":
			table.Row("  password", password)
		case secret != "":
			table.Row("  password", "Secret "+namespace+"/"+secret+", key "+orFirst(key))
		}
	}
	encryptionRows(&table, s.TLS, namespace)
	user("User", s.User, s.Secret, s.Key, s.Password)
	if s.Monitor != "" {
		user("Sentinel user", s.SentinelUser, s.SentinelSecret, s.SentinelKey, s.SentinelPassword)
	}
	table.Write(a.Out, "")
	if manifest := inPod(s); manifest != "" {
		_, _ = fmt.Fprintf(a.Out, "\nIn the pod of an application:\n%s", manifest)
	}
	_, _ = fmt.Fprintf(a.Out, "\nCode for a client library: --client %s\n", strings.Join(settings.Libraries(), "|"))
}

func encryptionRows(table *screen.Table, tls *settings.TLS, namespace string) {
	if tls == nil {
		return
	}
	if tls.Only {
		table.Row("TLS", "alone", "there is no plaintext")
	} else {
		table.Row("TLS", "beside plaintext", tls.Write.String()+" for the primary, "+tls.Read.String()+" for the replicas")
	}
	if tls.Pending != "" {
		table.Row("  not yet", tls.Pending)
	}
	table.Row("  authority", "Secret "+namespace+"/"+tls.Authority.Secret+", key "+tls.Authority.Key)
	if other := tls.SentinelAuthority; other != nil && *other != tls.Authority {
		table.Row("  of Sentinels", "Secret "+namespace+"/"+other.Secret+", key "+other.Key)
	}
	if tls.ClientCertificate {
		table.Row("  certificate", "required", "a client shows one of that authority ("+settings.FileCertificate+", "+settings.FileKey+" in code)")
	}
}

// inPod is what the manifest of an application's pod needs, empty where it needs nothing.
func inPod(s settings.Settings) string {
	text := ""
	if s.Secret != "" && s.Password == "" {
		text += env(settings.EnvPassword, s.Secret, s.Key)
		if s.SentinelSecret != "" {
			text += env(settings.EnvSentinelPassword, s.SentinelSecret, s.SentinelKey)
		}
	}
	if s.TLS != nil {
		text += s.TLS.Mounts()
	}
	return text
}

func orFirst(key string) string {
	if key == "" {
		return "any"
	}
	return key
}

func env(variable, secret, key string) string {
	if key == "" {
		key = "password"
	}
	return fmt.Sprintf("  env:\n  - name: %s\n    valueFrom: {secretKeyRef: {name: %s, key: %s}}\n", variable, secret, key)
}

// printCode prints code for one library, or for all.
func (a *App) printCode(s settings.Settings, flags connectFlags) error {
	names := []string{flags.client}
	if flags.client == "all" {
		names = settings.Libraries()
	}
	for i, name := range names {
		library, err := settings.Find(name)
		if err != nil {
			return err
		}
		via := settings.Via(flags.via)
		if via == "" {
			via = settings.ViaSentinel
			if library.Can(s, via) != nil {
				via = settings.ViaService
			}
		}
		text, err := library.Render(s, via)
		switch {
		case err != nil && len(names) == 1:
			return usageError{err}
		case err != nil:
			text = err.Error() + "\n"
		}
		if len(names) > 1 {
			if i > 0 {
				_, _ = fmt.Fprintln(a.Out)
			}
			_, _ = fmt.Fprintf(a.Out, "== %s (%s, by %s)\n", name, library.Language, via)
		}
		_, _ = fmt.Fprint(a.Out, text)
	}
	if s.Secret != "" && s.Password == "" {
		_, _ = fmt.Fprintf(a.ErrOut, "The password of user %s is in Secret %s.\n", s.User, s.Secret)
	}
	if s.TLS != nil {
		_, _ = fmt.Fprintf(a.ErrOut, "The authority for TLS is in Secret %s, key %s.\n", s.TLS.Authority.Secret, s.TLS.Authority.Key)
	}
	return nil
}
