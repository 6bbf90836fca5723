// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
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
	changed := changedEntries(directives, old)
	for _, name := range sortedKeys(changed) {
		value := changed[name]
		if !directiveName.MatchString(name) {
			errs = append(errs, field.Invalid(path, name, `must be the name of a directive: letters, digits and "-"`))
		}
		if hasControl(value) {
			errs = append(errs, field.Invalid(path.Key(name), value, noControlCharacters))
		}
		if clients, err := strconv.Atoi(value); valkeyconf.Canonical(name) == "maxclients" && err == nil && clients < fewestClients {
			errs = append(errs, field.Invalid(path.Key(name), value, fmt.Sprintf(
				"must be at least %d: the product's own connections count, and without them nobody can take the value back", fewestClients)))
		}
	}
	return errs
}

// fewestClients is several times what replicas, Sentinels, agent, exporter, controller and API server need of a server.
const fewestClients = 64

// Whatever a Sentinel would refuse of the settings that it knows.
func monitorSettingErrors(path *field.Path, settings, old map[string]string) field.ErrorList {
	var errs field.ErrorList
	changed := changedEntries(settings, old)
	for _, name := range sortedKeys(changed) {
		value := changed[name]
		if err := valkeyconf.CheckMonitorSetting(name, value); err != nil && !hasControl(value) {
			errs = append(errs, field.Invalid(path.Key(name), value, err.Error()))
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

func labelErrors(path *field.Path, labels, old map[string]string) field.ErrorList {
	return metav1validation.ValidateLabels(changedEntries(labels, old), path)
}

func annotationErrors(path *field.Path, annotations, old map[string]string) field.ErrorList {
	return apivalidation.ValidateAnnotations(changedEntries(annotations, old), path)
}

func changedEntries(of, old map[string]string) map[string]string {
	changed := maps.Clone(of)
	maps.DeleteFunc(changed, func(key, value string) bool {
		previous, existed := old[key]
		return existed && previous == value
	})
	return changed
}

func imageErrors(path *field.Path, image, old string) field.ErrorList {
	if image == old || !strings.ContainsFunc(image, unicode.IsSpace) && !hasControl(image) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, image, "must be the name of an image, without spaces")}
}

func exporterErrors(path *field.Path, exporter, old *ExporterSpec) field.ErrorList {
	errs := imageErrors(path.Child("image"), exporter.Image, old.Image)
	return append(errs, resourceErrors(path.Child("resources"), &exporter.Resources, &old.Resources)...)
}

// What else is in a container is for the core API to judge, when the pods are made.
func containerErrors(path *field.Path, containers, old []corev1.Container) field.ErrorList {
	var errs field.ErrorList
	for i := range containers {
		name, previous := containers[i].Name, corev1.Container{}
		if at := slices.IndexFunc(old, func(container corev1.Container) bool { return container.Name == name }); at >= 0 {
			previous = old[at]
		} else {
			for _, message := range apivalidation.NameIsDNSLabel(name, false) {
				errs = append(errs, field.Invalid(path.Index(i).Child("name"), name, message))
			}
		}
		errs = append(errs, resourceErrors(path.Index(i).Child("resources"), &containers[i].Resources, &previous.Resources)...)
	}
	return errs
}

func durationErrors(path *field.Path, duration, old *metav1.Duration) field.ErrorList {
	if duration == nil || duration.Duration > 0 || old != nil && *old == *duration {
		return nil
	}
	return field.ErrorList{field.Invalid(path, duration.Duration.String(), "must be greater than 0")}
}

// ValidateCustom_UserSpec checks what the tags cannot express. Old and new have one name.
func ValidateCustom_UserSpec(_ context.Context, _ operation.Operation, path *field.Path, user, old *UserSpec) field.ErrorList {
	var errs field.ErrorList
	if old == nil {
		errs = append(errs, userNameErrors(path.Child("name"), user.Name)...)
		old = &UserSpec{}
	}
	if user.NoPass && user.PasswordSecret != nil && (!old.NoPass || old.PasswordSecret == nil) {
		errs = append(errs, field.Forbidden(path.Child("nopass"), "not together with passwordSecret"))
	}
	if user.PasswordSecret != nil {
		errs = append(errs, passwordSecretErrors(path.Child("passwordSecret"), user.PasswordSecret, orEmpty(old.PasswordSecret))...)
	}
	if user.Permissions != old.Permissions {
		errs = append(errs, permissionErrors(path.Child("permissions"), user.Permissions)...)
	}
	if commands := user.Commands; commands != nil {
		previous := orEmpty(old.Commands)
		errs = append(errs, commandErrors(path.Child("commands", "allow"), commands.Allow, previous.Allow)...)
		errs = append(errs, commandErrors(path.Child("commands", "deny"), commands.Deny, previous.Deny)...)
	}
	if keys := user.Keys; keys != nil {
		previous := orEmpty(old.Keys)
		errs = append(errs, patternErrors(path.Child("keys", "readWrite"), keys.ReadWrite, previous.ReadWrite)...)
		errs = append(errs, patternErrors(path.Child("keys", "readOnly"), keys.ReadOnly, previous.ReadOnly)...)
		errs = append(errs, patternErrors(path.Child("keys", "writeOnly"), keys.WriteOnly, previous.WriteOnly)...)
	}
	if channels := user.Channels; channels != nil {
		errs = append(errs, patternErrors(path.Child("channels", "patterns"), channels.Patterns, orEmpty(old.Channels).Patterns)...)
	}
	return errs
}

func passwordSecretErrors(path *field.Path, secret *PasswordSecretRef, old PasswordSecretRef) field.ErrorList {
	var errs field.ErrorList
	if secret.Name != "" && secret.Name != old.Name {
		for _, message := range apivalidation.NameIsDNSSubdomain(secret.Name, false) {
			errs = append(errs, field.Invalid(path.Child("name"), secret.Name, message))
		}
	}
	for i, key := range secret.Keys {
		if slices.Contains(old.Keys, key) {
			continue
		}
		for _, message := range validation.IsConfigMapKey(key) {
			errs = append(errs, field.Invalid(path.Child("keys").Index(i), key, message))
		}
	}
	return errs
}

func orEmpty[T any](value *T) T {
	if value == nil {
		var empty T
		return empty
	}
	return *value
}

func userNameErrors(path *field.Path, name string) field.ErrorList {
	switch {
	case strings.HasPrefix(name, "_"):
		return field.ErrorList{field.Invalid(path, name, `must not begin with "_": those users are the product's own`)}
	case hasSpaceOrControl(name) || strings.ContainsAny(name, "()"):
		return field.ErrorList{field.Invalid(path, name, "must not hold spaces, parentheses or control characters")}
	}
	return nil
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

func commandErrors(path *field.Path, commands, old []string) field.ErrorList {
	var errs field.ErrorList
	for i, command := range commands {
		if !aclCommand.MatchString(command) && !slices.Contains(old, command) {
			errs = append(errs, field.Invalid(path.Index(i), command,
				`must be a command ("get"), a subcommand ("config|get") or a category ("@read")`))
		}
	}
	return errs
}

func patternErrors(path *field.Path, patterns, old []string) field.ErrorList {
	var errs field.ErrorList
	for i, pattern := range patterns {
		if (pattern == "" || hasSpaceOrControl(pattern)) && !slices.Contains(old, pattern) {
			errs = append(errs, field.Invalid(path.Index(i), pattern, "must be a pattern without spaces or control characters"))
		}
	}
	return errs
}

func hasSpaceOrControl(text string) bool {
	return strings.ContainsFunc(text, unicode.IsSpace) || hasControl(text)
}

// ValidateCustom_TLSSpec checks what the tags cannot express.
func ValidateCustom_TLSSpec(_ context.Context, _ operation.Operation, path *field.Path, tls, old *TLSSpec) field.ErrorList {
	had := func(wrong func(*TLSSpec) bool) bool { return old != nil && wrong(old) }
	var errs field.ErrorList
	if hasTwoCertificates(tls) && !had(hasTwoCertificates) {
		errs = append(errs, field.Forbidden(path.Child("certManager"), "not together with secretName"))
	}
	if lacksCertificate(tls) && !had(lacksCertificate) {
		errs = append(errs, field.Required(path.Child("secretName"), "TLS needs secretName or certManager"))
	}
	if name := tls.SecretName; name != "" && (old == nil || old.SecretName != name) {
		for _, wrong := range validation.IsDNS1123Subdomain(name) {
			errs = append(errs, field.Invalid(path.Child("secretName"), name, wrong))
		}
	}
	if asked := tls.CertManager; asked != nil {
		before := &CertManagerSpec{}
		if old != nil && old.CertManager != nil {
			before = old.CertManager
		}
		errs = append(errs, issuerErrors(path.Child("certManager", "issuerRef"), asked.IssuerRef, before.IssuerRef)...)
		errs = append(errs, dnsNameErrors(path.Child("certManager", "extraDNSNames"), asked.ExtraDNSNames, before.ExtraDNSNames)...)
	}
	return errs
}

// groupCertManager is that of cert-manager's own issuers; those of others have kinds of their own.
const groupCertManager = "cert-manager.io"

// issuerErrors are about a reference that no issuer can have. That the name is there is checked by a tag.
func issuerErrors(path *field.Path, issuer, old IssuerRef) field.ErrorList {
	if issuer == old {
		return nil
	}
	var errs field.ErrorList
	for _, part := range []struct{ field, text string }{{"name", issuer.Name}, {"group", issuer.Group}} {
		if part.text == "" {
			continue
		}
		for _, wrong := range validation.IsDNS1123Subdomain(part.text) {
			errs = append(errs, field.Invalid(path.Child(part.field), part.text, wrong))
		}
	}
	switch kinds := []string{"ClusterIssuer", "Issuer"}; {
	case issuer.Group == "" || issuer.Group == groupCertManager:
		if issuer.Kind != "" && !slices.Contains(kinds, issuer.Kind) {
			errs = append(errs, field.NotSupported(path.Child("kind"), issuer.Kind, kinds))
		}
	case !kindName.MatchString(issuer.Kind):
		errs = append(errs, field.Invalid(path.Child("kind"), issuer.Kind, "must be the name of a kind: letters and digits, and the first a capital"))
	}
	return errs
}

var kindName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)

// dnsNameErrors are about names that no certificate can have. The first label may be "*".
func dnsNameErrors(path *field.Path, names, old []string) field.ErrorList {
	var errs field.ErrorList
	for i, name := range names {
		if slices.Contains(old, name) {
			continue
		}
		check := validation.IsDNS1123Subdomain
		if strings.HasPrefix(name, "*") {
			check = validation.IsWildcardDNS1123Subdomain
		}
		for _, wrong := range check(name) {
			errs = append(errs, field.Invalid(path.Index(i), name, wrong))
		}
	}
	return errs
}

// Ports of plaintext.
const portValkey, portSentinel = 6379, 26379

// tlsErrors are about TLS of a Valkey or ValkeySentinel, whose plaintext has the port.
func tlsErrors(path *field.Path, tls, old *TLSSpec, plaintext int32) field.ErrorList {
	if old.IsOnly() && !tls.IsOn() {
		return field.ErrorList{field.Forbidden(path, "clients would be cut off between one pod and the next: set allowUnencrypted first, and turn TLS off when the condition Encrypted has the reason PlaintextServed")}
	}
	isOn := func(tls *TLSSpec) bool {
		return tls != nil && tls.AllowUnencrypted && tls.Port != nil && *tls.Port == plaintext
	}
	if isOn(tls) && !isOn(old) {
		return field.ErrorList{field.Invalid(path.Child("port"), *tls.Port, "is the plaintext port while allowUnencrypted is set")}
	}
	return nil
}

func hasTwoCertificates(tls *TLSSpec) bool { return tls.SecretName != "" && tls.CertManager != nil }

func lacksCertificate(tls *TLSSpec) bool {
	return tls.Enabled && tls.SecretName == "" && tls.CertManager == nil
}

// ValidateCustom_PodDisruptionBudgetSpec checks what the tags cannot express.
func ValidateCustom_PodDisruptionBudgetSpec(_ context.Context, _ operation.Operation, path *field.Path, budget, old *PodDisruptionBudgetSpec) field.ErrorList {
	limit := budget.MaxUnavailable
	if limit == nil || old != nil && old.MaxUnavailable != nil && *old.MaxUnavailable == *limit {
		return nil
	}
	number, err := intstr.GetScaledValueFromIntOrPercent(limit, 100, false)
	if err == nil && number >= 0 && (limit.Type == intstr.Int || number <= 100) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("maxUnavailable"), limit.String(), `must be a number of pods, or a percentage from "0%" to "100%"`)}
}
