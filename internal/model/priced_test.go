package model_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
)

func TestPriced(t *testing.T) {
	free := model.PriceOptions{Override: map[string]model.Price{"anthropic/own": {}}}
	for _, test := range []struct {
		name, model, says string
		want              chat.Usage
	}{
		{"a reply", "claude-sonnet-5", "tell a\nend", chat.Usage{Input: 10, Output: 1, Cost: 30}},
		{"an error", "claude-sonnet-5", "tell a\nserver_error", chat.Usage{Input: 10, Output: 1, Cost: 30}},
		{"an error that used nothing", "new", "auth", chat.Usage{}},
		{"a cost that the provider reports", "claude-sonnet-5", "tell a\ncost 7777777\nend", chat.Usage{Input: 10, Output: 1, Cost: 7}},
		{"another model that answered", "auto", "tell a\nmodel claude-opus-5-5\nend", chat.Usage{Input: 10, Output: 1, Cost: 60}},
		{"a model that nobody knows", "new", "tell a\nend", chat.Usage{Input: 10, Output: 1, Unpriced: 1}},
		{"an error of one", "new", "tell a\nauth", chat.Usage{Input: 10, Output: 1, Unpriced: 1}},
		{"a model that costs nothing", "own", "tell a\nend", chat.Usage{Input: 10, Output: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := model.NewPriced(says(t, test.says), "anthropic", prices(t, free))
				reply, err := p.Generate(t.Context(), model.Request{Model: test.model}, nil)
				usage := reply.Usage
				var failure *model.Error
				if errors.As(err, &failure) {
					usage = failure.Usage
				}
				if diff := cmp.Diff(test.want, usage); diff != "" {
					t.Errorf("usage (-want +got):\n%s", diff)
				}
			})
		})
	}
}
