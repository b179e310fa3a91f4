package config

import (
	"reflect"
	"strings"
)

// Secrets are all secrets that the settings have, by the names of their settings. They are found by
// their type, so that none is forgotten.
func (s Settings) Secrets() map[string]Secret {
	out := map[string]Secret{}
	findSecrets(out, reflect.ValueOf(s), "")
	return out
}

func findSecrets(out map[string]Secret, v reflect.Value, name string) {
	if found, ok := v.Interface().(Secret); ok {
		if !found.IsZero() {
			out[name] = found
		}
		return
	}
	below := func(v reflect.Value, part string) {
		findSecrets(out, v, strings.TrimPrefix(name+"."+part, "."))
	}
	switch v.Kind() { //nolint:exhaustive // the others hold no settings
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			part, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if field.IsExported() {
				below(v.Field(i), part)
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			below(v.MapIndex(key), key.String())
		}
	case reflect.Slice:
		for i := range v.Len() {
			findSecrets(out, v.Index(i), name)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			findSecrets(out, v.Elem(), name)
		}
	default:
	}
}
