// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// The forms of output.
const (
	asTable = "table"
	asWide  = "wide"
	asJSON  = "json"
	asYAML  = "yaml"
)

// output is the flag -o.
type output struct {
	form  string
	forms []string
}

// newOutput adds the flag to a command; forms are those beside json and yaml, the first of them the default.
func newOutput(cmd *cobra.Command, forms ...string) *output {
	o := &output{forms: append(forms, asJSON, asYAML)}
	cmd.Flags().StringVarP(&o.form, "output", "o", o.forms[0], "How to print: "+strings.Join(o.forms, ", ")+".")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(o.forms, cobra.ShellCompDirectiveNoFileComp))
	return o
}

func (o *output) check() error {
	if !slices.Contains(o.forms, o.form) {
		return usagef("unknown output %q: use %s", o.form, strings.Join(o.forms, ", "))
	}
	return nil
}

// forPeople tells whether it is not for programs.
func (o *output) forPeople() bool { return o.form != asJSON && o.form != asYAML }

// print prints a value for programs.
func (o *output) print(w io.Writer, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	if o.form == asYAML {
		if text, err = yaml.JSONToYAML(text); err != nil {
			return err
		}
	} else {
		text = append(text, '\n')
	}
	_, err = w.Write(text)
	return err
}

// oneName is for commands about one object.
func oneName(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("name one %s", what)
		}
		return nil
	}
}
