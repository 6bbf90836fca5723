// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	longestFile = 400
	longestTest = 800
)

var forbiddenStem = regexp.MustCompile(`^(util|utils|common|helper|helpers|misc|base|manager|consts)$`)

// excused lists the files that may be longer, with the reason. It should shrink.
var excused = map[string]string{}

// goFiles calls visit for every hand-written Go file of the repository.
func goFiles(t *testing.T, visit func(path string, text []byte)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if entry.IsDir() {
			if rel == ".git" || rel == "bin" || rel == filepath.Join("pkg", "generated") || entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" || strings.HasPrefix(entry.Name(), "zz_generated") || entry.Name() == "generated.pb.go" || entry.Name() == "generated.protomessage.pb.go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		visit(rel, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesStaySmallAndSayWhatTheyHold(t *testing.T) {
	goFiles(t, func(path string, text []byte) {
		stem := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".go"), "_test")
		limit := longestFile
		switch {
		case strings.HasSuffix(path, "_test.go"):
			limit = longestTest
		case strings.HasPrefix(stem, "types"):
			limit = 1 << 20
		}
		if lines := bytes.Count(text, []byte("\n")); lines > limit && excused[path] == "" {
			t.Errorf("%s has %d lines, more than %d", path, lines, limit)
		}
		parts := append(strings.Split(filepath.Dir(path), string(filepath.Separator)), stem)
		if slices.ContainsFunc(parts, forbiddenStem.MatchString) {
			t.Errorf("%s: the name says nothing; name it for what it holds", path)
		}
		if strings.HasPrefix(stem, "types") && !strings.HasPrefix(path, filepath.Join("pkg", "apis")) {
			t.Errorf("%s: only the API packages have files called types", path)
		}
	})
}

func TestEveryFileNamesItsLicence(t *testing.T) {
	goFiles(t, func(path string, text []byte) {
		if !bytes.Contains(text[:min(len(text), 400)], []byte("SPDX-License-Identifier: Apache-2.0")) {
			t.Errorf("%s: no SPDX-License-Identifier", path)
		}
	})
}

func TestNoTestIsSkipped(t *testing.T) {
	skip := regexp.MustCompile(`\bt\.Skip(f|Now)?\(`)
	goFiles(t, func(path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "architecture") && skip.Match(text) {
			t.Errorf("%s skips a test: what it needs is installed, or it fails", path)
		}
	})
}

func TestEveryPackageSaysWhatItOwns(t *testing.T) {
	for _, p := range packages(t) {
		folder := strings.TrimPrefix(p.ImportPath, module+"/")
		if strings.HasPrefix(folder, "pkg/generated") || len(p.GoFiles) == 0 || strings.HasPrefix(folder, "cmd/") {
			continue
		}
		if !documented(t, p) {
			t.Errorf("%s has no package comment", folder)
		}
	}
}

// documented is whether a file of the package has a package comment.
func documented(t *testing.T, p goPackage) bool {
	t.Helper()
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(file.Doc.Text()) != "" {
			return true
		}
	}
	return false
}
