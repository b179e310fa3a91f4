package archtest

import "testing"

func TestDefaults(t *testing.T) { fail(t, Defaults(repository(t))) }

func TestDefaultsAreRefused(t *testing.T) {
	for code, want := range map[string]int{
		`func f() { _, _ = http.Get("http://x") }`:                      1,
		`func f() { _ = http.ListenAndServe(":1", nil) }`:               1,
		`var c = http.DefaultClient`:                                    1,
		`var c = &http.Client{Timeout: 1}`:                              0,
		`func f(s *http.Server) { _ = s.Serve(nil) }`:                   0,
		`func f(m *http.ServeMux) { m.HandleFunc("/", http.NotFound) }`: 0,
	} {
		found := Defaults(sketch(t, map[string]string{"internal/x/a.go": "package x\nimport \"net/http\"\n" + code}))
		if len(found) != want {
			t.Errorf("%s\n\tgot %v", code, found)
		}
	}
	if found := Defaults(sketch(t, map[string]string{"internal/x/a_test.go": "package x\nimport \"net/http\"\nvar c = http.DefaultClient\n"})); len(found) > 0 {
		t.Errorf("a test is told off: %v", found)
	}
}
