package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/retinue-dev/retinue/internal/config/document"
)

// Entry is one setting in force.
type Entry struct {
	Key    string          `json:"key"`
	Value  string          `json:"value"`
	Origin document.Origin `json:"origin"`
}

// Entries lists the values that are set, in order of key, also zeros that were set on purpose.
// Secrets are shown by reference.
func (l Loaded) Entries() []Entry {
	entries := l.flatten(reflect.ValueOf(l.Settings), "")
	for i := range entries {
		entries[i].Origin = l.Origins[entries[i].Key]
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
	return entries
}

// flatten lists the values of a struct that are not zero, or were set to it.
func (l Loaded) flatten(v reflect.Value, path string) []Entry {
	var entries []Entry
	for _, k := range keysOf(v.Type()) {
		entries = append(entries, l.flattenValue(v.FieldByIndex(k.index), path+k.name)...)
	}
	return entries
}

func (l Loaded) flattenValue(v reflect.Value, path string) []Entry {
	_, secret := v.Interface().(Secret)
	group := v.Kind() == reflect.Struct && !secret
	if origin, set := l.Origins[path]; v.IsZero() && !group && (!set || origin.Kind == document.FromDefault) {
		return nil
	}
	switch value := v.Interface().(type) {
	case Secret:
		return []Entry{{Key: path, Value: value.Reference()}}
	case []string:
		return []Entry{{Key: path, Value: strings.Join(value, ", ")}}
	case document.Millis:
		return []Entry{{Key: path, Value: value.Words()}}
	case Price:
		return []Entry{{Key: path, Value: strconv.FormatFloat(float64(value)/1e6, 'f', -1, 64)}}
	}
	switch v.Kind() { //nolint:exhaustive // the other kinds are plain values
	case reflect.Struct:
		return l.flatten(v, path+".")
	case reflect.Map:
		var entries []Entry
		for _, name := range v.MapKeys() {
			entries = append(entries, l.flattenValue(v.MapIndex(name), path+"."+name.String())...)
		}
		return entries
	}
	return []Entry{{Key: path, Value: fmt.Sprint(v.Interface())}}
}
