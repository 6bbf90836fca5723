// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Command statusdoc writes docs/status.md from the constants and comments that declare conditions, reasons and events, so that
// the page cannot say anything else than the code.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
)

const head = `# Status

What the conditions, reasons and events of the three kinds mean. This page is generated from
[conditions.go](../pkg/apis/valkey/v1alpha1/conditions.go) and [events.go](../pkg/apis/valkey/v1alpha1/events.go) by make generate.

A condition that has not been reported yet is Unknown. ` + "`status.state`" + ` sums up: Initializing (the first pods have not all been
ready), Reconciling (a change is on its way), Ready, Degraded (it serves, with less than asked for), Failed (it does not serve);
` + "`status.reason`" + ` is one of the reasons below. Nothing in a status moves while nothing happens.
`

// leading cuts the constant's own name, and "means that", off the beginning of its comment.
var leading = regexp.MustCompile(`^\w+ (means that |is )?`)

func main() {
	out := head
	for _, file := range os.Args[1:] {
		text, err := tables(file)
		if err != nil {
			fmt.Fprintln(os.Stderr, "statusdoc:", err)
			os.Exit(1)
		}
		out += text
	}
	fmt.Print(out)
}

// tables is a table for each block of constants in a file.
func tables(path string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, declaration := range file.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		title, note, _ := strings.Cut(strings.Join(strings.Fields(block.Doc.Text()), " "), ". ")
		fmt.Fprintf(&b, "\n## %s\n\n", strings.TrimSuffix(title, "."))
		if note != "" {
			fmt.Fprintf(&b, "%s\n\n", note)
		}
		b.WriteString("| name | meaning |\n| --- | --- |\n")
		for _, spec := range block.Specs {
			value := spec.(*ast.ValueSpec)
			name, err := strconv.Unquote(value.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				return "", err
			}
			meaning := leading.ReplaceAllString(strings.Join(strings.Fields(value.Doc.Text()), " "), "")
			fmt.Fprintf(&b, "| `%s` | %s |\n", name, strings.ReplaceAll(meaning, "|", `\|`))
		}
	}
	return b.String(), nil
}
