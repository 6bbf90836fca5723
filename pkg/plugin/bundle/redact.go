// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"
)

const hidden = "[REDACTED]"

var (
	// secretKey is a key of a map, the name of a variable or of a flag, behind which a secret may be. Names of Secrets are none.
	secretKey = regexp.MustCompile(`(?i)(pass|passwd|password|passphrase|token|credentials?|api[-_]?key|private[-_]?key|tls[-_.]key|requirepass|masterauth|primaryauth|auth)$`)
	// directives of configuration files, whose value stands behind a blank.
	directive = regexp.MustCompile(`(?i)\b(requirepass|masterauth|primaryauth|auth-pass\s+\S+|sentinel-pass|[a-z-]+-key-file-pass)(\s*[=:]\s*|\s+)("[^"]*"|\S+)`)
	assigned  = regexp.MustCompile(`(?i)\b([a-z_-]*(?:password|passwd|passphrase|token|api[-_]?key))("?\s*[:=]\s*)("[^"]*"|[^\s,;}\]]+)`)
	inURL     = regexp.MustCompile(`://[^/\s@]*:[^/\s@]+@`)
	bearer    = regexp.MustCompile(`(?i)\bbearer\s+[a-z0-9._~+/=-]+`)
	jwt       = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`)
	hash      = regexp.MustCompile(`[#!]?\b[0-9a-f]{64}\b`)
	pem       = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)`)
	encoded   = regexp.MustCompile(`LS0tLS1CRUdJTi[A-Za-z0-9+/=]+`) // PEM, once more encoded, as in a Secret
	aclWord   = regexp.MustCompile(`(^|\s)([<>])\S+`)
	// Names of images hold a hash of their content, which is none of a password.
	digest = regexp.MustCompile(`sha256:[0-9a-f]{64}`)
)

// Text is text without what may be secret.
func Text(text string) string {
	var digests []string
	text = digest.ReplaceAllStringFunc(text, func(found string) string {
		digests = append(digests, found)
		return "\x00"
	})
	text = pem.ReplaceAllString(text, hidden)
	text = encoded.ReplaceAllStringFunc(text, certificatesOnly)
	text = inURL.ReplaceAllString(text, "://"+hidden+"@")
	text = bearer.ReplaceAllString(text, "Bearer "+hidden)
	text = jwt.ReplaceAllString(text, hidden)
	text = directive.ReplaceAllString(text, "${1}${2}"+hidden)
	text = assigned.ReplaceAllString(text, "${1}${2}"+hidden)
	text = hash.ReplaceAllString(text, hidden)
	for _, found := range digests {
		text = strings.Replace(text, "\x00", found, 1)
	}
	return text
}

// certificatesOnly lets those through, which are public; what cannot be read may be a key.
func certificatesOnly(text string) string {
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil || bytes.Contains(plain, []byte("PRIVATE KEY")) {
		return hidden
	}
	return text
}

// rules are those of a user, in the language of ACL files.
func rules(text string) string { return Text(aclWord.ReplaceAllString(text, "${1}${2}"+hidden)) }

// Object takes out of an object what may be secret, and what nobody needs.
func Object(object map[string]any) {
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			// The object once more, as somebody wrote it.
			delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		}
	}
	for key, value := range object {
		object[key] = redacted(key, value)
	}
}

func redacted(key string, value any) any {
	switch v := value.(type) {
	case string:
		return redactedText(key, v)
	case map[string]any:
		redactMap(v)
	case []any:
		redactList(key, v)
	}
	return value
}

func redactedText(key, text string) string {
	switch {
	case key == "permissions", strings.HasSuffix(key, ".acl"):
		return rules(text)
	case secretKey.MatchString(key) && text != "":
		return hidden
	}
	return Text(text)
}

func redactMap(object map[string]any) {
	// A variable of the environment is a name and a value.
	if name, isVariable := object["name"].(string); isVariable && secretKey.MatchString(name) {
		if text, isLiteral := object["value"].(string); isLiteral && text != "" {
			object["value"] = hidden
		}
	}
	for key, item := range object {
		object[key] = redacted(key, item)
	}
}

func redactList(key string, list []any) {
	isSecretFlag := false
	for i, item := range list {
		text, isText := item.(string)
		switch {
		case isText && isSecretFlag && !strings.HasPrefix(text, "-"):
			list[i] = hidden // the value of a flag may be the next argument
		default:
			list[i] = redacted(key, item)
		}
		isSecretFlag = isText && strings.HasPrefix(text, "-") && secretKey.MatchString(text)
	}
}
