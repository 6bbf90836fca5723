// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

var update = flag.Bool("update", false, "rewrite docs/plugin.md")

const marker = "<!-- Below: the commands' own help, written by go test ./pkg/plugin/command -update -->\n"

// docs/plugin.md ends with what the commands say themselves.
func TestTheReferenceIsCurrent(t *testing.T) {
	file := filepath.Join("..", "..", "..", "docs", "plugin.md")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	written, _, found := strings.Cut(string(content), marker)
	if !found {
		t.Fatalf("%s has lost the line %q", file, marker)
	}
	want := written + marker + reference()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(content) != want {
		t.Errorf("%s does not say what the commands do: go test ./pkg/plugin/command -update", file)
	}
}

func reference() string {
	app := &App{IOStreams: genericiooptions.IOStreams{Out: io.Discard, ErrOut: io.Discard}, Getenv: os.Getenv}
	var text strings.Builder
	for _, cmd := range app.command().Commands() {
		fmt.Fprintf(&text, "\n## %s\n```\n%s %s\n```\n%s\n", cmd.Name(), name, cmd.Use, longOf(cmd))
		rows := ""
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			short := ""
			if f.Shorthand != "" {
				short = "`-" + f.Shorthand + "`, "
			}
			initial := ""
			if f.DefValue != "" && f.DefValue != "false" {
				initial = "`" + f.DefValue + "`"
			}
			rows += fmt.Sprintf("| %s`--%s` | %s | %s |\n", short, f.Name, initial, strings.ReplaceAll(f.Usage, "|", `\|`))
		})
		if rows != "" {
			text.WriteString("\n| flag | default | |\n| --- | --- | --- |\n" + rows)
		}
		if cmd.Example != "" {
			fmt.Fprintf(&text, "\n```\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(cmd.Example, "  "), "\n  ", "\n"))
		}
	}
	return text.String()
}

func longOf(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return cmd.Long
	}
	return cmd.Short + "."
}

func TestEveryCommandHasExamples(t *testing.T) {
	app := &App{IOStreams: genericiooptions.IOStreams{Out: io.Discard, ErrOut: io.Discard}, Getenv: os.Getenv}
	commands := app.command().Commands()
	if len(commands) != 11 {
		t.Errorf("%d commands", len(commands))
	}
	for _, cmd := range commands {
		if !strings.Contains(cmd.Example, "  kubectl valkey "+cmd.Name()) || cmd.Short == "" {
			t.Errorf("%s: %q, %q", cmd.Name(), cmd.Short, cmd.Example)
		}
	}
}
