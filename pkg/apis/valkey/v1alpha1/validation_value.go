// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/operation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// Directives and ACL rules end up in line-based files: a newline in one would be a directive of its own.
const noControlCharacters = "must not hold control characters such as a newline"

var directiveName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

var aclCommand = regexp.MustCompile(`^@?[A-Za-z0-9|._-]+$`)

// Entries that were there before are left alone.
func directiveErrors(path *field.Path, directives, old map[string]string) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedKeys(directives) {
		value := directives[name]
		if previous, existed := old[name]; existed && previous == value {
			continue
		}
		if !directiveName.MatchString(name) {
			errs = append(errs, field.Invalid(path, name, `must be the name of a directive: letters, digits and "-"`))
		}
		if hasControl(value) {
			errs = append(errs, field.Invalid(path.Key(name), value, noControlCharacters))
		}
	}
	return errs
}

func sortedKeys(of map[string]string) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func hasControl(text string) bool { return strings.ContainsFunc(text, unicode.IsControl) }

func imageErrors(path *field.Path, image, old string) field.ErrorList {
	if image == old || !strings.ContainsFunc(image, unicode.IsSpace) && !hasControl(image) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, image, "must be the name of an image, without spaces")}
}

func exporterErrors(path *field.Path, exporter, old *ExporterSpec) field.ErrorList {
	return imageErrors(path.Child("image"), exporter.Image, old.Image)
}

func durationErrors(path *field.Path, duration *metav1.Duration) field.ErrorList {
	if duration == nil || duration.Duration > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, duration.Duration.String(), "must be greater than 0")}
}

// ValidateCustom_UserSpec checks what the tags cannot express.
func ValidateCustom_UserSpec(_ context.Context, _ operation.Operation, path *field.Path, user, _ *UserSpec) field.ErrorList {
	var errs field.ErrorList
	switch {
	case strings.HasPrefix(user.Name, "_"):
		errs = append(errs, field.Invalid(path.Child("name"), user.Name, `must not begin with "_": those users are the product's own`))
	case hasSpaceOrControl(user.Name) || strings.ContainsAny(user.Name, "()"):
		errs = append(errs, field.Invalid(path.Child("name"), user.Name, "must not hold spaces, parentheses or control characters"))
	}
	if user.NoPass && user.PasswordSecret != nil {
		errs = append(errs, field.Forbidden(path.Child("nopass"), "not together with passwordSecret"))
	}
	errs = append(errs, permissionErrors(path.Child("permissions"), user.Permissions)...)
	if commands := user.Commands; commands != nil {
		errs = append(errs, commandErrors(path.Child("commands", "allow"), commands.Allow)...)
		errs = append(errs, commandErrors(path.Child("commands", "deny"), commands.Deny)...)
	}
	if keys := user.Keys; keys != nil {
		errs = append(errs, patternErrors(path.Child("keys", "readWrite"), keys.ReadWrite)...)
		errs = append(errs, patternErrors(path.Child("keys", "readOnly"), keys.ReadOnly)...)
		errs = append(errs, patternErrors(path.Child("keys", "writeOnly"), keys.WriteOnly)...)
	}
	if channels := user.Channels; channels != nil {
		errs = append(errs, patternErrors(path.Child("channels", "patterns"), channels.Patterns)...)
	}
	return errs
}

// The text may hold a password by mistake, so an error does not repeat it.
func permissionErrors(path *field.Path, permissions string) field.ErrorList {
	for _, rule := range aclRules(permissions) {
		if err := valkeyconf.CheckRule(rule); err != nil {
			return field.ErrorList{field.Invalid(path, field.OmitValueType{}, "must be ACL rules separated by spaces: "+err.Error())}
		}
	}
	return nil
}

// aclRules splits at spaces, except within the parentheses of a selector.
func aclRules(permissions string) []string {
	var rules []string
	depth := 0
	for word := range strings.SplitSeq(permissions, " ") {
		switch {
		case depth > 0:
			rules[len(rules)-1] += " " + word
		case word == "":
			continue
		default:
			rules = append(rules, word)
		}
		if word != "" && word[0] == '(' {
			depth = 1
		}
		if strings.HasSuffix(word, ")") {
			depth = 0
		}
	}
	return rules
}

func commandErrors(path *field.Path, commands []string) field.ErrorList {
	var errs field.ErrorList
	for i, command := range commands {
		if !aclCommand.MatchString(command) {
			errs = append(errs, field.Invalid(path.Index(i), command,
				`must be a command ("get"), a subcommand ("config|get") or a category ("@read")`))
		}
	}
	return errs
}

func patternErrors(path *field.Path, patterns []string) field.ErrorList {
	var errs field.ErrorList
	for i, pattern := range patterns {
		if pattern == "" || hasSpaceOrControl(pattern) {
			errs = append(errs, field.Invalid(path.Index(i), pattern, "must be a pattern without spaces or control characters"))
		}
	}
	return errs
}

func hasSpaceOrControl(text string) bool {
	return strings.ContainsFunc(text, unicode.IsSpace) || hasControl(text)
}

// ValidateCustom_TLSSpec checks what the tags cannot express.
func ValidateCustom_TLSSpec(_ context.Context, _ operation.Operation, path *field.Path, tls, _ *TLSSpec) field.ErrorList {
	var errs field.ErrorList
	if tls.SecretName != "" && tls.CertManager != nil {
		errs = append(errs, field.Forbidden(path.Child("certManager"), "not together with secretName"))
	}
	if tls.Enabled && tls.SecretName == "" && tls.CertManager == nil {
		errs = append(errs, field.Required(path.Child("secretName"), "TLS needs secretName or certManager"))
	}
	if tls.AllowUnencrypted && tls.Port != nil && *tls.Port == 6379 {
		errs = append(errs, field.Invalid(path.Child("port"), *tls.Port, "is the plaintext port while allowUnencrypted is set"))
	}
	return errs
}

// ValidateCustom_PodDisruptionBudgetSpec checks what the tags cannot express.
func ValidateCustom_PodDisruptionBudgetSpec(_ context.Context, _ operation.Operation, path *field.Path, budget, _ *PodDisruptionBudgetSpec) field.ErrorList {
	limit := budget.MaxUnavailable
	if limit == nil {
		return nil
	}
	number, err := intstr.GetScaledValueFromIntOrPercent(limit, 100, false)
	if err == nil && number >= 0 && (limit.Type == intstr.Int || number <= 100) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("maxUnavailable"), limit.String(), `must be a number of pods, or a percentage from "0%" to "100%"`)}
}
