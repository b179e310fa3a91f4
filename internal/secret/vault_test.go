package secret_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/retinue-dev/retinue/internal/secret"
)

var lower = regexp.MustCompile(`%..`)

const value = `k&y"7/?ÿ+ =Zq<9`

func TestRedactsEveryEncoding(t *testing.T) {
	v := &secret.Vault{}
	v.Add("API_KEY", value)
	quoted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	nested, err := json.Marshal(string(quoted))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"plain":         value,
		"json":          string(quoted[1 : len(quoted)-1]),
		"json in json":  string(nested[3 : len(nested)-3]),
		"quoted":        strings.Trim(fmt.Sprintf("%q", value), `"`),
		"query":         url.QueryEscape(value),
		"path":          url.PathEscape(value),
		"hex":           hex.EncodeToString([]byte(value)),
		"upper hex":     strings.ToUpper(hex.EncodeToString([]byte(value))),
		"base64":        base64.StdEncoding.EncodeToString([]byte(value)),
		"base64 raw":    base64.RawStdEncoding.EncodeToString([]byte(value)),
		"base64 url":    base64.URLEncoding.EncodeToString([]byte(value)),
		"lower percent": lower.ReplaceAllStringFunc(url.QueryEscape(value), strings.ToLower),
	} {
		got := v.Redact("before " + text + " after")
		if got != "before [secret:API_KEY] after" {
			t.Errorf("%s: %s became %s", name, text, got)
		}
	}
}

// TestRedactsWithinBase64 has a value in the middle of a text that is encoded as a whole.
func TestRedactsWithinBase64(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[!-~]{8,60}`).Draw(t, "value")
		before := rapid.SliceOf(rapid.Byte()).Draw(t, "before")
		after := rapid.SliceOf(rapid.Byte()).Draw(t, "after")
		v := &secret.Vault{}
		v.Add("it", value)
		whole := append(append(append([]byte{}, before...), value...), after...)
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
			encoded := e.EncodeToString(whole)
			if got := v.Redact(encoded); !strings.Contains(got, "[secret:it]") {
				t.Errorf("%q is still in %s", value, got)
			}
		}
	})
}

func TestWhatIsASecret(t *testing.T) {
	v := secret.New([]string{
		"GITHUB_TOKEN=ghp_0123456789", "npm_config_key=lowercase-too", "HOME=/home/somebody", "SHORT_KEY=abc",
		"DATABASE_URL=postgres://app:pass%20word@db/app", "PGURL=postgres://postgres:postgres@db/app",
		"PROXY=http://me:proxy-pass@proxy:3128", "PWD=/somewhere/else",
	})
	v.Add("live.nats_url", "nats://a-nats-token@one:4222,nats://u:second-pass@two:4222")
	v.Add("journal.dsn", "host=db user=app password='spelled-out' dbname=app")
	for text, want := range map[string]string{
		"ghp_0123456789":          "[secret:GITHUB_TOKEN]",
		"lowercase-too":           "[secret:npm_config_key]",
		"/home/somebody abc":      "/home/somebody abc",
		"pass word":               "[secret:DATABASE_URL]",
		"user=app pass%20word":    "user=app [secret:DATABASE_URL]",
		"postgres":                "postgres",
		"proxy-pass":              "[secret:PROXY]",
		"/somewhere/else":         "/somewhere/else",
		"a-nats-token":            "[secret:live.nats_url]",
		"second-pass":             "[secret:live.nats_url]",
		"password=spelled-out at": "password=[secret:journal.dsn] at",
	} {
		if got := v.Redact(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
	var none *secret.Vault
	none.Add("A_KEY", "0123456789")
	if got := none.Redact("0123456789"); got != "0123456789" || none.Held("0123") != 0 {
		t.Errorf("no vault made %s", got)
	}
}

func TestMarked(t *testing.T) {
	v := &secret.Vault{}
	v.Add("WORD", "open-sesame")
	if !v.Marked(`{"a":"is `+v.Redact("open-sesame")+`"}`) || v.Marked("[secret:OTHER] WORD") {
		t.Error("a mark is not known, or one of somebody else is")
	}
	var none *secret.Vault
	if none.Marked("[secret:WORD]") {
		t.Error("no vault knows a mark")
	}
}

func TestWithhold(t *testing.T) {
	v := &secret.Vault{}
	v.Add("WORD", "open-sesame")
	environ := map[string]string{"LANG": "C", "MY_TOKEN": "short", "INNOCENT": "is open-sesame"}
	got := v.Withhold([]string{"LANG", "MY_TOKEN", "INNOCENT", "MISSING"}, func(name string) (string, bool) {
		value, ok := environ[name]
		return value, ok
	})
	if diff := cmp.Diff([]string{"MY_TOKEN", "INNOCENT"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestLongestWins(t *testing.T) {
	v := &secret.Vault{}
	v.Add("short", "sk-abc12345")
	v.Add("long", "sk-abc12345-and-more")
	if diff := cmp.Diff("[secret:long] [secret:short]-and", v.Redact("sk-abc12345-and-more sk-abc12345-and")); diff != "" {
		t.Error(diff)
	}
}

// TestHeld cuts texts anywhere and has them redacted piece by piece.
func TestHeld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := &secret.Vault{}
		v.Add("a", "abababab-x")
		v.Add("b", "bababab/ÿz")
		piece := rapid.SampledFrom([]string{
			"a", "ab", "b", "abababab-x", "bababab/ÿz", "-x", "YWJhYmFiYWIteA==", "YWJh", "616261", "plain", "ÿ", "%C3",
		})
		held, shown, whole := "", "", ""
		for _, p := range rapid.SliceOfN(piece, 1, 40).Draw(t, "pieces") {
			whole += p
			text := v.Redact(held + p)
			n := v.Held(text)
			shown, held = shown+text[:len(text)-n], text[len(text)-n:]
		}
		shown += v.Redact(held)
		for _, secret := range []string{"abababab-x", "bababab/ÿz", "YWJhYmFiYWIteA"} {
			if strings.Contains(shown, secret) {
				t.Errorf("%s was shown in %s, of %s", secret, shown, whole)
			}
		}
	})
}

func TestRedactJSON(t *testing.T) {
	v := &secret.Vault{}
	v.Add("json", `{"type":"account","n":1}`)
	v.Add("word", "open-sesame")
	v.Add("number", "123456789012")
	for text, want := range map[string]string{
		`{"a":1.50,"b":["open-sesame"]}`:               `{"a":1.50,"b":["[secret:word]"]}`,
		`{"open-sesame":true}`:                         `{"[secret:word]":true}`,
		`{"n":123456789012}`:                           `{"n":"[secret:number]"}`,
		`{"args":"{\"x\":\"open-sesame\",\"y\":2}"}`:   `{"args":"{\"x\":\"[secret:word]\",\"y\":2}"}`,
		`{"text":"is {\"type\":\"account\",\"n\":1}"}`: `{"text":"is [secret:json]"}`,
		`{"text":"{\"type\":\"account\",\"n\":1}"}`:    `{"text":"{\"redacted\":\"[secret:json]\"}"}`,
		`{"b":2,"a":1}`:                                `{"b":2,"a":1}`,
		`no JSON, open-sesame`:                         `no JSON, [secret:word]`,
	} {
		if got := v.RedactJSON(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}

// TestCost prints what a text without a secret in it costs, with 50 values in the vault.
func TestCost(t *testing.T) {
	v, forms := canaries(50)
	text := strings.Repeat("The quick brown fox jumps over the lazy dog 0123456789 {\"a\": [1, 2]}\n", 64<<10/70)
	v.Redact(text)
	began, rounds := time.Now(), 20
	for range rounds {
		if v.Redact(text) != text {
			t.Fatal("something was found in it")
		}
	}
	t.Logf("%d values in %d forms, %d bytes: %v", 50, forms, len(text), time.Since(began)/time.Duration(rounds))
}

func BenchmarkRedact(b *testing.B) {
	v, _ := canaries(50)
	text := strings.Repeat("The quick brown fox jumps over the lazy dog 0123456789 {\"a\": [1, 2]}\n", 64<<10/70)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		v.Redact(text)
	}
}

func canaries(n int) (*secret.Vault, int) {
	v, forms := &secret.Vault{}, 0
	for i := range n {
		sum := sha256.Sum256(fmt.Append(nil, i))
		value := "sk-" + base64.StdEncoding.EncodeToString(sum[:])
		v.Add(fmt.Sprint("KEY", i), value)
		forms += len(secret.Forms(value))
	}
	return v, forms
}
