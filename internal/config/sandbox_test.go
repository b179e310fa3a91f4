package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheSandboxIsCheckedAndPersonal(t *testing.T) {
	with := func(text string) (Loaded, error) {
		return LoadSettings(places(t, "", "sandbox: "+text+"\n", ""))
	}
	loaded, err := with("{tier: none, allow_root: true, read_only: [/opt/go], pass: [GOPROXY], hosts: [a.example, '*.b.example'], host_bytes: 5000}")
	if err != nil {
		t.Fatal(err)
	}
	want := Sandbox{
		Tier: SandboxNone, AllowRoot: true, ReadOnly: []string{"/opt/go"}, Pass: []string{"GOPROXY"}, Hosts: []string{"a.example", "*.b.example"},
		HostBytes: 5000,
	}
	if diff := cmp.Diff(want, loaded.Settings.Sandbox); diff != "" {
		t.Error(diff)
	}
	for text, problem := range map[string]string{
		"{host_bytes: 0}":                "a number of bytes above 0",
		"{tier: jail}":                   "sandbox.tier",
		"{allow_root: maybe}":            "sandbox.allow_root",
		"{read_only: [opt/go]}":          "the whole path of a folder",
		"{read_only: [/]}":               "the whole path of a folder",
		"{read_only: [/opt/../etc]}":     "the whole path of a folder",
		"{pass: ['A=b']}":                "the name of a variable",
		"{hosts: ['https://a.example']}": "expected a host",
		"{hosts: ['a.example:80']}":      "expected a host",
		"{hosts: ['a.*']}":               "expected a host",
	} {
		if _, err := with(text); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if s := Defaults(""); s.Sandbox.Tier != SandboxBubblewrap {
		t.Errorf("the default is %q", s.Sandbox.Tier)
	}
	in := places(t, "", "", "sandbox: {tier: none}\n")
	if loaded, err := LoadSettings(in); err != nil || loaded.Settings.Sandbox.Tier != SandboxBubblewrap {
		t.Errorf("a project that nobody trusts chose %q: %v", loaded.Settings.Sandbox.Tier, err)
	}
}
