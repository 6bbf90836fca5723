// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/plugin/cluster"
	"github.com/valkeykube/valkeykube/pkg/plugin/credential"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// tlsFlags name files for who may not read the Secret, or trusts others than it.
type tlsFlags struct {
	ca, certificate, key string
}

func (f *tlsFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.ca, "ca", "", "File with the authority whose servers are believed, in PEM. Default: ca.crt of the Valkey's Secret for TLS.")
	cmd.Flags().StringVar(&f.certificate, "cert", "", "File with a certificate to show, in PEM, beside --ca and --key.")
	cmd.Flags().StringVar(&f.key, "key", "", "File with the key of that certificate, in PEM.")
	for _, name := range []string{"ca", "cert", "key"} {
		_ = cmd.MarkFlagFilename(name)
	}
}

func (f *tlsFlags) check() error {
	switch {
	case (f.certificate == "") != (f.key == ""):
		return usagef("only together: --cert and --key")
	case f.certificate != "" && f.ca == "":
		return usagef("--cert and --key go with --ca")
	}
	return nil
}

// encryption is how to speak to the servers of a Valkey.
func (f *tlsFlags) encryption(ctx context.Context, clients *cluster.Clients, valkey *v1alpha1.Valkey) (valkeyclient.Encryption, error) {
	if f.ca == "" {
		encryption, err := credential.Reader{Kube: clients.Kube, Namespace: clients.Namespace}.Encryption(ctx, valkey)
		if err != nil {
			err = fmt.Errorf("%w; it takes the right to get that Secret, or --ca FILE with the authority of the servers", err)
		}
		return encryption, err
	}
	if !valkey.Spec.Networking.TLS.IsOn() {
		return valkeyclient.Encryption{}, usagef("Valkey %s has no TLS: leave --ca out", valkey.Name)
	}
	texts := credential.PEM{}
	for _, part := range []struct { // one file may hold several
		file string
		into *[]byte
	}{{f.ca, &texts.Authority}, {f.certificate, &texts.Certificate}, {f.key, &texts.Key}} {
		if part.file == "" {
			continue
		}
		text, err := os.ReadFile(part.file)
		if err != nil {
			return valkeyclient.Encryption{}, err
		}
		*part.into = text
	}
	encryption, err := texts.Encryption(valkey)
	if err != nil {
		return valkeyclient.Encryption{}, fmt.Errorf("--ca, --cert and --key: %w", err)
	}
	return encryption, nil
}

// wayOut adds to an error of TLS what the person can do about it.
func wayOut(err error) error {
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "certificate required"): // the alert of a server that asks for one
		return fmt.Errorf("%w; --cert FILE and --key FILE show one", err)
	case errors.Is(err, valkeyclient.ErrTLS) && strings.Contains(err.Error(), "unknown authority"):
		return fmt.Errorf("%w; --ca FILE names another authority", err)
	}
	return err
}
