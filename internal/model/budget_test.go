package model_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
)

// coins is a budget that remembers the amounts taken and returned.
type coins struct{ has, most int64 }

func (c *coins) Take(_ context.Context, most int64) *model.Error {
	if c.most = most; most > c.has {
		return &model.Error{Kind: chat.KindBudgetExceeded, Message: "too little"}
	}
	c.has -= most
	return nil
}

func (c *coins) Return(rest int64) { c.has += rest }

// broken is a provider that counts its input, and then breaks off.
type broken struct{}

func (broken) Generate(context.Context, model.Request, func(model.Delta)) (model.Reply, error) {
	return model.Reply{}, &model.Error{Kind: chat.KindNetwork, Unmetered: true, Usage: chat.Usage{Input: 10, Output: 1}}
}

// TestABudgetPaysForEachSending: only the part known to be unused comes back.
func TestABudgetPaysForEachSending(t *testing.T) {
	price := model.PriceOptions{Override: map[string]model.Price{"anthropic/claude": {Input: 1e6, Output: 10e6, CacheWrite: 2e6}}}
	req := model.Request{Model: "claude", MaxOutput: 5, System: []model.Instruction{{Text: strings.Repeat("x", 100)}}}
	for _, test := range []struct {
		name, says string
		has, left  int64
	}{
		{"a reply costs what was counted", "tell a\nend", 10_000, 10_000 - 20},
		{"a refusal costs nothing", "auth", 10_000, 10_000},
		{"too little in it", "", 100, 100},
		{"a stream that broke may have cost the most of what it counted", "broken", 10_000, 10_000 - 2*10 - 50},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var client model.Client = broken{}
				if test.says == "" {
					client = says(t) // a request is an error
				} else if test.says != "broken" {
					client = says(t, test.says)
				}
				budget, req := &coins{has: test.has}, req
				req.Budget = budget
				_, err := model.NewPriced(client, "anthropic", prices(t, price)).Generate(t.Context(), req, nil)
				if budget.has != test.left {
					t.Errorf("%d is left of %d after the most was %d (%v), want %d", budget.has, test.has, budget.most, err, test.left)
				}
				if budget.most < 2*100+5*10 {
					t.Errorf("%d was taken, which is less than the bytes cost", budget.most)
				}
			})
		})
	}
}

// TestMostIsNoLessThanBytes: of each text in a request at least its bytes are counted, and of
// pictures what they may cost.
func TestMostIsNoLessThanBytes(t *testing.T) {
	long := strings.Repeat("x", 1000)
	var plain model.Request
	for name, req := range map[string]model.Request{
		"instructions":  {System: []model.Instruction{{Text: long}}},
		"a schema":      {Tools: []model.Tool{{Schema: json.RawMessage(long)}}},
		"a description": {Tools: []model.Tool{{Description: long}}},
		"a result":      {Transcript: chat.Transcript{{Parts: []chat.Part{{Kind: chat.PartToolResult, Text: long}}}}},
		"arguments":     {Transcript: chat.Transcript{{Parts: []chat.Part{{Kind: chat.PartToolUse, Args: long}}}}},
		"a picture":     {Transcript: chat.Transcript{{Parts: []chat.Part{{Kind: chat.PartImage, Image: "hash"}}}}},
	} {
		if more := req.Most("anthropic/claude") - plain.Most("anthropic/claude"); more < 1000 {
			t.Errorf("%s of 1000 bytes adds %d tokens", name, more)
		}
	}
}

// TestWhatIsCountedNeedNoBound: a request that continues a conversation starts from the same
// model's count of it.
func TestWhatIsCountedNeedNoBound(t *testing.T) {
	say := func(text string) chat.Message {
		return chat.Message{Speaker: chat.User, Parts: []chat.Part{{Kind: chat.PartText, Text: text}}}
	}
	first := model.Request{
		System: []model.Instruction{{Text: strings.Repeat("x", 9000)}}, Tools: []model.Tool{{Name: "t", Schema: json.RawMessage(`{}`)}},
		Transcript: chat.Transcript{say("one")},
	}
	counted := first.Counted(model.Reply{Name: "a/m", Usage: chat.Usage{Input: 3000}})
	next := first
	next.Transcript, next.Before = append(chat.Transcript{}, first.Transcript[0], say("two")), counted
	if most := next.Most("a/m"); most < 3003 || most > 3200 {
		t.Errorf("%d tokens, of which 3000 were counted and few are new", most)
	}
	other, edited, tooled := next, next, next
	edited.Transcript = chat.Transcript{say("ONE"), say("two")}
	tooled.Tools = []model.Tool{{Name: "t", Schema: json.RawMessage(`{"type":"object"}`)}}
	for name, most := range map[string]int64{
		"another model": other.Most("a/n"), "another beginning": edited.Most("a/m"), "more tools": tooled.Most("a/m"),
	} {
		if most < 9000 {
			t.Errorf("%s: %d tokens, which is less than the bytes", name, most)
		}
	}
	if first.Counted(model.Reply{Name: "a/m", Estimated: true, Usage: chat.Usage{Input: 3000}}) != nil {
		t.Error("an estimate counts")
	}
}
