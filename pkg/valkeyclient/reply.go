// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import (
	"fmt"
	"strconv"

	"github.com/valkey-io/valkey-go"
)

// valueOf turns the library's reply into plain Go values: string, int64, []any, map[string]any, or nil.
// Nothing after this point knows the library.
func valueOf(result valkey.ValkeyResult) (any, error) {
	value, err := result.ToAny()
	if valkey.IsValkeyNil(err) {
		return nil, nil
	}
	return value, err
}

func unexpected(want string, got any) error {
	return fmt.Errorf("%w: want %s, got %T", ErrUnexpected, want, got)
}

func asText(value any) (string, error) {
	if text, ok := value.(string); ok {
		return text, nil
	}
	return "", unexpected("text", value)
}

func asInt(value any) (int64, error) {
	switch v := value.(type) {
	case int64:
		return v, nil
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n, nil
		}
	}
	return 0, unexpected("a number", value)
}

func asList(value any) ([]any, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case []any:
		return v, nil
	}
	return nil, unexpected("a list", value)
}

func asTexts(value any) ([]string, error) {
	list, err := asList(value)
	if err != nil {
		return nil, err
	}
	texts := make([]string, 0, len(list))
	for _, item := range list {
		text, err := asText(item)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// asTextMap accepts a map (RESP3) and the flat list of keys and values that RESP2 sends in its place.
func asTextMap(value any) (map[string]string, error) {
	fields := map[string]string{}
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			fields[key] = fmt.Sprint(item)
		}
	case []any:
		if len(v)%2 != 0 {
			return nil, unexpected("pairs", value)
		}
		for i := 0; i < len(v); i += 2 {
			key, err := asText(v[i])
			if err != nil {
				return nil, err
			}
			fields[key] = fmt.Sprint(v[i+1])
		}
	default:
		return nil, unexpected("a map", value)
	}
	return fields, nil
}

func asTextMaps(value any) ([]map[string]string, error) {
	list, err := asList(value)
	if err != nil {
		return nil, err
	}
	maps := make([]map[string]string, 0, len(list))
	for _, item := range list {
		fields, err := asTextMap(item)
		if err != nil {
			return nil, err
		}
		maps = append(maps, fields)
	}
	return maps, nil
}
