package chat

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOnlyPureAndIdempotentCallsAreRepeated(t *testing.T) {
	cases := []struct {
		class EffectClass
		word  string
		want  bool
	}{
		{ClassPure, "pure", true},
		{ClassIdempotent, "idempotent", true},
		{ClassReconcilable, "reconcilable", false},
		{ClassOnce, "once", false},
		{"", "", false},
	}
	var known []EffectClass
	for _, c := range cases[:len(cases)-1] {
		known = append(known, c.class)
	}
	wantEvery(t, "EffectClass", known)
	for _, c := range cases {
		if string(c.class) != c.word {
			t.Errorf("the word is %q, want %q", c.class, c.word)
		}
		if got := c.class.Repeatable(); got != c.want {
			t.Errorf("%q: repeatable is %t, want %t", c.class, got, c.want)
		}
	}
}

func TestUsageAddsEveryField(t *testing.T) {
	// Without field names, so that a field added to Usage does not compile until it stands here.
	one, ten := Usage{1, 2, 3, 4, 5, 6, 7}, Usage{10, 20, 30, 40, 50, 60, 70}
	cases := []struct {
		name       string
		u, v, want Usage
		tokens     int64
	}{
		{"nothing", Usage{}, Usage{}, Usage{}, 0},
		{"nothing more", one, Usage{}, one, 3},
		{"field by field", one, ten, Usage{11, 22, 33, 44, 55, 66, 77}, 33},
	}
	for _, c := range cases {
		for _, got := range []Usage{c.u.Plus(c.v), c.v.Plus(c.u)} {
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: sum (+) against the wanted (-):\n%s", c.name, diff)
			}
			if tokens := got.Tokens(); tokens != c.tokens {
				t.Errorf("%s: %d tokens, want %d", c.name, tokens, c.tokens)
			}
		}
	}
}
