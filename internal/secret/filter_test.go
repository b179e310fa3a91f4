package secret_test

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/retinue-dev/retinue/internal/secret"
)

// everyByte percent-encodes all of a text, also what needs no encoding.
func everyByte(text string) string {
	var out strings.Builder
	for _, b := range []byte(text) {
		fmt.Fprintf(&out, "%%%02x", b)
	}
	return out.String()
}

// encodings are the encodings in which a value is found in outgoing texts.
func encodings(value string) map[string]string {
	quoted, _ := json.Marshal(value)
	wrapped := base64.StdEncoding.EncodeToString([]byte("head " + value + " tail"))
	return map[string]string{
		"plain":               value,
		"upper case":          strings.ToUpper(value),
		"lower case":          strings.ToLower(value),
		"in the middle":       "https://x.example/?a=" + value + "&b=1",
		"json":                string(quoted[1 : len(quoted)-1]),
		"query":               url.QueryEscape(value),
		"path":                url.PathEscape(value),
		"every byte":          everyByte(value),
		"every byte, twice":   url.QueryEscape(everyByte(value)),
		"hex":                 hex.EncodeToString([]byte(value)),
		"hex with spaces":     fmt.Sprintf("% x", value),
		"base64":              base64.StdEncoding.EncodeToString([]byte(value)),
		"base64 for URLs":     base64.RawURLEncoding.EncodeToString([]byte(value)),
		"base64 in a text":    wrapped,
		"base64 escaped":      url.QueryEscape(wrapped),
		"base64 with breaks":  wrapped[:10] + "\n" + wrapped[10:],
		"base32":              base32.StdEncoding.EncodeToString([]byte(value)),
		"base32 in a host":    strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte("x"+value))) + ".evil.example",
		"base32hex in a text": base32.HexEncoding.EncodeToString([]byte("abc" + value + "z")),
	}
}

func TestFilterFindsEveryEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[A-Za-z0-9_+/=&-]{8,40}`).Draw(t, "value")
		filter := (&secret.Vault{}).Filter(map[string]string{value: "a canary"})
		for how, text := range encodings(value) {
			if what, found := filter.Find(text); !found || what != "a canary" {
				t.Errorf("%s of %s is not found: %s", how, value, text)
			}
		}
	})
}

// TestFilterSaysWhatItDoesNotFind keeps docs/security.md true: these are out of its reach.
func TestFilterSaysWhatItDoesNotFind(t *testing.T) {
	const value = "CANARY-7f3a9c2e51d0"
	v := &secret.Vault{}
	v.Add("API_KEY", "sk-0123456789abcdef")
	filter := v.Filter(map[string]string{value: "a canary", "short": "too short"}, "not in it")
	reversed := []byte(value)
	for i, j := 0, len(reversed)-1; i < j; i, j = i+1, j-1 {
		reversed[i], reversed[j] = reversed[j], reversed[i]
	}
	twice := base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(value))))
	for _, text := range []string{string(reversed), value[:9], value[9:], value[:9] + "/" + value[9:], twice, "short", "harmless"} {
		if what, found := filter.Find(text); found {
			t.Errorf("%s is taken for %s", text, what)
		}
	}
	if what, _ := filter.Find("Bearer SK-0123456789ABCDEF"); what != "the secret API_KEY" {
		t.Errorf("the vault's value is %q", what)
	}
	if what, found := v.Filter(nil, "sk-0123456789abcdef").Find("sk-0123456789abcdef"); found {
		t.Errorf("what is excepted is taken for %s", what)
	}
	if _, found := (*secret.Vault)(nil).Filter(nil).Find(value); found {
		t.Error("nothing finds something")
	}
}

func TestCanariesAreWhatLooksSecret(t *testing.T) {
	const pem = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
	workspace := fstest.MapFS{
		".env": {Data: []byte("# a remark\nDEBUG=true\nexport STRIPE_KEY='sk_live_51H8'  # the old one\nPORT=8080\nNAME=\"A B\"\n" +
			"SESSION=9f86d081884c7d659a2feaa0c55ad015\nPAGE=https://docs.example.org/9f86d081884c7d659a2f\n" +
			"DB=postgres://app:hunter22-and-more@db.example/app\nGREETING=hello-hello-hello-hello\nTOKEN=short\n")},
		".env.local":         {Data: []byte(`{"api_token": "tok-1234-abcd", "kind": "service"}`)},
		".env.example":       {Data: []byte("STRIPE_KEY=sk_live_placeholder_9\n")},
		"web/.env":           {Data: []byte("VITE_SECRET=deep-secret-1\n")},
		"keys/server.pem":    {Data: []byte("-----BEGIN PRIVATE KEY-----\n" + pem + "\n-----END PRIVATE KEY-----\n")},
		"other.txt":          {Data: []byte("OTHER_KEY=not-listed-anywhere\n")},
		"web/big/.env":       {Data: []byte("BIG_KEY=in-a-large-file-1\n" + strings.Repeat("#", 300<<10))},
		"a/b/c/.env":         {Data: []byte("DEEP_KEY=too-deep-for-the-list\n")},
		".env.d/inside.conf": {Data: []byte("IN_KEY=folder-of-that-name\n")},
	}
	got, err := secret.Canaries(workspace, []string{".env", ".env.*", "*/.env", "*/*/.env", "keys/*.pem"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"sk_live_51H8": ".env", "9f86d081884c7d659a2feaa0c55ad015": ".env", "hunter22-and-more": ".env",
		"tok-1234-abcd": ".env.local", "deep-secret-1": "web/.env", pem: "keys/server.pem",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
