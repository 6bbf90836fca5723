// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

//go:embed templates/*.tmpl
var templates embed.FS

// Via is how a client finds the primary.
type Via string

// The ways.
const (
	ViaSentinel Via = "sentinel"
	ViaService  Via = "service"
)

// Library is a client library.
type Library struct {
	Name string
	// Language, as it is called in headings.
	Language string
	// sentinel is whether it can ask Sentinels.
	sentinel bool
	// environment is how its language reads a variable.
	environment string
}

// libraries in the order in which they are listed.
var libraries = []Library{
	{"go-redis", "Go", true, "os.Getenv(%s)"},
	{"valkey-go", "Go", true, "os.Getenv(%s)"},
	{"ioredis", "JavaScript", true, "process.env.%s"},
	{"iovalkey", "JavaScript", true, "process.env.%s"},
	{"node-redis", "JavaScript", true, "process.env.%s"},
	{"valkey-glide", "JavaScript", false, "process.env.%s"},
	{"redis-py", "Python", true, "os.environ[%s]"},
}

// Libraries are the names of those that are known.
func Libraries() []string {
	names := make([]string, 0, len(libraries))
	for _, l := range libraries {
		names = append(names, l.Name)
	}
	return names
}

// Find is the library of that name.
func Find(name string) (Library, error) {
	at := slices.IndexFunc(libraries, func(l Library) bool { return l.Name == name })
	if at < 0 {
		return Library{}, fmt.Errorf("unknown client %q; known are %s", name, strings.Join(Libraries(), ", "))
	}
	return libraries[at], nil
}

// Can tells whether it can go that way, and why not.
func (l Library) Can(s Settings, via Via) error {
	switch {
	case via == ViaSentinel && !l.sentinel:
		return fmt.Errorf("%s cannot ask Sentinels; connect it to the write Service (--via service)", l.Name)
	case via == ViaSentinel && len(s.Sentinels) == 0:
		return fmt.Errorf("no Sentinels monitor the Valkey; connect to the write Service (--via service)")
	}
	return nil
}

// Names of the variables that hold the passwords, where they are not shown.
const (
	EnvPassword         = "VALKEY_PASSWORD"
	EnvSentinelPassword = "VALKEY_SENTINEL_PASSWORD"
)

// Render is code that connects with the library.
func (l Library) Render(s Settings, via Via) (string, error) {
	if err := l.Can(s, via); err != nil {
		return "", err
	}
	file := l.Name
	if l.Name == "iovalkey" { // the same interface under another name
		file = "ioredis"
	}
	name := file + "." + string(via) + ".tmpl"
	parsed, err := template.New(name).Funcs(template.FuncMap{"quote": strconv.Quote}).ParseFS(templates, "templates/"+name, "templates/encryption.tmpl")
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = parsed.Execute(&text, l.values(s, via))
	return text.String(), err
}

// values are what templates are filled with. TLS beside plaintext is for those who ask for it: the code is that for plaintext.
func (l Library) values(s Settings, via Via) map[string]any {
	values := map[string]any{
		"S": s, "Library": l.Name,
		"Password":         l.secret(s.Secret, s.Password, EnvPassword),
		"SentinelPassword": l.secret(s.SentinelSecret, s.SentinelPassword, EnvSentinelPassword),
		"TLS":              s.TLS != nil && s.TLS.Only,
		"Authority":        FileAuthority, "Authorities": []string{FileAuthority},
		"Certificate": "", "Key": "", "SentinelAuthority": "",
	}
	if s.TLS == nil || !s.TLS.Only {
		return values
	}
	if s.TLS.ClientCertificate {
		values["Certificate"], values["Key"] = FileCertificate, FileKey
	}
	if via == ViaSentinel && s.TLS.SentinelAuthority != nil {
		files := s.TLS.authorities()
		values["Authorities"], values["SentinelAuthority"] = files, files[len(files)-1]
	}
	return values
}

// secret is an expression for a password: itself where it is shown, else the variable it is to be put in; empty where there is none.
func (l Library) secret(secret, shown, variable string) string {
	switch {
	case shown != "":
		return strconv.Quote(shown)
	case secret == "":
		return ""
	case strings.HasPrefix(l.environment, "process"):
		return fmt.Sprintf(l.environment, variable)
	}
	return fmt.Sprintf(l.environment, strconv.Quote(variable))
}
