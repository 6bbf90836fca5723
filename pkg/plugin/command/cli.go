// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/plugin/cluster"
	"github.com/valkeykube/valkeykube/pkg/plugin/console"
	"github.com/valkeykube/valkeykube/pkg/plugin/credential"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

const (
	// dialPatience bounds connecting, which goes through the API server and a kubelet; loginPatience the login.
	dialPatience  = 15 * time.Second
	loginPatience = 10 * time.Second
)

// cliFlags are those of the command.
type cliFlags struct {
	node, user          string
	ask, raw, formatted bool
	tls                 tlsFlags
}

func (a *App) cli() *cobra.Command {
	flags := cliFlags{}
	cmd := &cobra.Command{
		Use:   "cli VALKEY [-- COMMAND [ARGUMENT...]]",
		Short: "Talk to the primary of a Valkey, or to another node",
		Long: `Talk to the primary of a Valkey, or to the node named by --node, as valkey-cli does. With a command behind "--" it is sent and
answered; else commands are read from the terminal, or from standard input until one is answered with an error.

The connection goes through the cluster's API server into the pod (the right to create pods/portforward is needed) and listens
nowhere on this machine. The session logs in as --login, else as the default user if it can log in, else as the first user of the
spec. The password is read from the user's Secret if you may read it; else you are asked for it. It is never in arguments or in the
environment of a process.

Where the Valkey has TLS, TLS is spoken, by the authority and with the certificate in its Secret if you may read it; else --ca names a
file with the authority, and --cert and --key a certificate where the servers ask for one. As between servers, names in certificates
are not compared: whoever has one of that authority is believed.

Texts are printed as they are where the output is no terminal; --raw and --formatted choose.`,
		Example: `  kubectl valkey cli cache
  kubectl valkey cli cache --node 1 -- INFO replication
  kubectl valkey cli cache --login app -- GET greeting
  kubectl valkey cli cache --ca ca.crt -- PING
  printf 'SET a 1\nINCR a\n' | kubectl valkey cli cache`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); len(args) == 0 || dash == 0 || dash < 0 && len(args) > 1 || dash > 1 {
				return usagef(`name one Valkey, and the command behind "--"`)
			}
			return nil
		},
		ValidArgsFunction: a.completeValkey(),
	}
	cmd.Flags().StringVar(&flags.node, "node", "", "Node to talk to: its name, or its number. Default: the primary.")
	cmd.Flags().StringVarP(&flags.user, "login", "l", "", "User to log in as.")
	cmd.Flags().BoolVar(&flags.ask, "ask-password", false, "Ask for the password, or read it from the first line of standard input, instead of looking it up.")
	cmd.Flags().BoolVar(&flags.raw, "raw", false, "Print texts as they are.")
	cmd.Flags().BoolVar(&flags.formatted, "formatted", false, "Print answers as for people.")
	flags.tls.register(cmd)
	_ = cmd.RegisterFlagCompletionFunc("node", a.completeNode())
	_ = cmd.RegisterFlagCompletionFunc("login", a.completeUser())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if flags.raw && flags.formatted {
			return usagef("not together: --raw and --formatted")
		}
		if err := flags.tls.check(); err != nil {
			return err
		}
		clients, err := a.connectTo()
		if err != nil {
			return err
		}
		return a.talk(cmd.Context(), clients, args[0], args[1:], flags)
	}
	return cmd
}

func (a *App) talk(ctx context.Context, clients *cluster.Clients, name string, command []string, flags cliFlags) error {
	valkey, err := clients.Valkey(ctx, name)
	if err != nil {
		return err
	}
	node := nodeOf(name, flags.node)
	if node == "" {
		if node = clients.Primary(ctx, valkey); node == "" {
			return errors.New("no primary is known; --node names a node to talk to")
		}
	}
	encryption, err := flags.tls.encryption(ctx, clients, valkey)
	if err != nil {
		return err
	}
	input := bufio.NewReader(a.In)
	login, err := a.login(ctx, clients, valkey, flags, input)
	if err != nil {
		return err
	}
	pod, err := clients.PodOfNode(ctx, node)
	if err != nil {
		return err
	}
	session, err := openSession(ctx, clients, pod, encryption.On(valkeyclient.Target{Name: node, Credentials: login}))
	if err != nil {
		return wayOut(err)
	}
	defer func() { _ = session.Close() }()
	err = wayOut(a.converse(session, node, command, flags, input))
	switch {
	case ctx.Err() != nil: // the person has had enough
		return nil
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s has ended the connection", node)
	}
	return err
}

// openSession connects to the server in a pod. Its port is the usual one, with TLS and without.
func openSession(ctx context.Context, clients *cluster.Clients, pod string, target valkeyclient.Target) (*valkeyclient.Session, error) {
	tunnel := clients.Tunnel()
	client := valkeyclient.New(valkeyclient.Options{
		DialTimeout: dialPatience, CallTimeout: loginPatience,
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return tunnel.Dial(ctx, clients.Namespace, pod, naming.PortValkey)
		},
	})
	target.Address = fmt.Sprintf("%s:%d", pod, naming.PortValkey)
	return client.Session(ctx, target)
}

// login finds out as whom to log in, and with which password.
func (a *App) login(ctx context.Context, clients *cluster.Clients, valkey *v1alpha1.Valkey, flags cliFlags, input *bufio.Reader) (valkeyclient.Credentials, error) {
	none := valkeyclient.Credentials{}
	accounts := credential.OfValkey(valkey, true)
	account, found := credential.Preferred(accounts)
	if flags.user != "" {
		account, found = credential.Named(accounts, flags.user)
	}
	switch {
	case !found && flags.user != "" && flags.ask: // one that somebody has made by hand
		account = credential.Account{User: flags.user}
	case !found && flags.user != "":
		return none, usagef("Valkey %s has no user %q", valkey.Name, flags.user)
	case !found:
		return none, usagef("no user of Valkey %s can log in; --login names one", valkey.Name)
	}
	if flags.ask {
		password, err := a.askPassword(account.User, input)
		return valkeyclient.Credentials{Username: account.User, Password: password}, err
	}
	password, err := credential.Reader{Kube: clients.Kube, Namespace: clients.Namespace}.Password(ctx, account)
	if errors.Is(err, credential.ErrMayNotRead) {
		if _, isTerminal := terminal(a.In); isTerminal {
			_, _ = fmt.Fprintln(a.ErrOut, err)
			password, err = a.askPassword(account.User, input)
		}
	}
	if err == nil && password == "" && account.User != "default" {
		password = "any" // one that needs no password logs in with any
	}
	return valkeyclient.Credentials{Username: account.User, Password: password}, err
}

func (a *App) askPassword(user string, input *bufio.Reader) (string, error) {
	file, isTerminal := terminal(a.In)
	if !isTerminal {
		line, err := input.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	_, _ = fmt.Fprintf(a.ErrOut, "Password of user %s: ", user)
	password, err := term.ReadPassword(int(file.Fd())) //nolint:gosec // a file descriptor is a small number
	_, _ = fmt.Fprintln(a.ErrOut)
	return string(password), err
}

// converse sends one command, or those that are typed.
func (a *App) converse(link console.Link, node string, command []string, flags cliFlags, input *bufio.Reader) error {
	_, toTerminal := terminal(a.Out)
	talking := console.Console{Link: link, Out: a.Out, Print: console.Raw}
	if flags.formatted || toTerminal && !flags.raw {
		talking.Print = console.Formatted
	}
	if len(command) > 0 {
		return talking.Once(command)
	}
	if file, isTerminal := terminal(a.In); isTerminal && toTerminal {
		defer func() { _, _ = fmt.Fprintln(a.Out) }() // the shell's prompt begins a line
		return talking.Run(newPrompt(file, a.Out, node+"> "), false)
	}
	return talking.Run(scanned{input}, true)
}

// scanned are lines that no person types.
type scanned struct{ *bufio.Reader }

// ReadLine is the next of them.
func (s scanned) ReadLine() (string, error) { return s.ReadString('\n') }

// prompt are lines that a person types, with editing and a history that ends with the session.
type prompt struct {
	file *os.File
	*term.Terminal
}

func newPrompt(in *os.File, out io.Writer, text string) *prompt {
	return &prompt{file: in, Terminal: term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, out}, text)}
}

// ReadLine takes the terminal over only while a line is typed, so that an interrupt ends a command that goes on and on.
func (p *prompt) ReadLine() (string, error) {
	fd := int(p.file.Fd()) //nolint:gosec // a file descriptor is a small number
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	defer func() { _ = term.Restore(fd, before) }()
	if width, height, err := term.GetSize(fd); err == nil {
		_ = p.SetSize(width, height)
	}
	return p.Terminal.ReadLine()
}
