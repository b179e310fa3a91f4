package model_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/secret"
)

// parrot is a client that repeats its script.
type parrot struct {
	deltas []model.Delta
	reply  model.Reply
	err    error
}

func (p parrot) Generate(_ context.Context, _ model.Request, told func(model.Delta)) (model.Reply, error) {
	for _, d := range p.deltas {
		if told != nil {
			told(d)
		}
	}
	return p.reply, p.err
}

func vault() *secret.Vault {
	v := &secret.Vault{}
	v.Add("WORD", "open-sesame")
	return v
}

func TestRedactedReply(t *testing.T) {
	reply := model.Reply{Model: "m", ID: "open-sesame", Parts: []chat.Part{
		{Kind: chat.PartThinking, Text: "open-sesame", Seal: "s1"},
		{Kind: chat.PartThinking, Text: "other", Seal: "s2"},
		{Kind: chat.PartText, Text: "It is b3Blbi1zZXNhbWU=."},
		{Kind: chat.PartToolUse, Call: "1.0", Tool: "shell", Args: `{"command":"echo open-sesame"}`},
	}}
	got, err := model.NewRedacted(parrot{reply: reply}, vault()).Generate(t.Context(), model.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := model.Reply{Model: "m", ID: "[secret:WORD]", Parts: []chat.Part{
		{Kind: chat.PartThinking, Text: "[secret:WORD]"},
		{Kind: chat.PartThinking, Text: "other", Seal: "s2"},
		{Kind: chat.PartText, Text: "It is [secret:WORD]."},
		{Kind: chat.PartToolUse, Call: "1.0", Tool: "shell", Args: `{"command":"echo [secret:WORD]"}`},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if reply.Parts[0].Text != "open-sesame" {
		t.Error("the client's own reply was changed")
	}
}

func TestRedactedError(t *testing.T) {
	cause := errors.New("cause")
	_, err := model.NewRedacted(parrot{err: &model.Error{
		Kind: chat.KindAuth, Message: "key open-sesame", Status: 401, Cause: cause,
	}}, vault()).Generate(t.Context(), model.Request{}, nil)
	if err == nil || strings.Contains(err.Error(), "open") || !errors.Is(err, cause) {
		t.Errorf("the error is %v", err)
	}
}

// TestRedactedDeltas has a value come in pieces, between those of another part and across a
// beginning that is replaced.
func TestRedactedDeltas(t *testing.T) {
	text := func(part int, text string) model.Delta {
		return model.Delta{Part: part, Kind: chat.PartText, Text: text}
	}
	again := func(d model.Delta) model.Delta { d.Attempt = 1; return d }
	var got []model.Delta
	_, err := model.NewRedacted(parrot{deltas: []model.Delta{
		text(0, "say ope"), text(0, "n-s"),
		{Part: 1, Kind: chat.PartToolUse, Tool: "shell"},
		{Part: 1, Kind: chat.PartToolUse, Text: `{"a":"op`},
		text(0, "esame!"), text(0, " open"), text(0, " door, open-ses"),
		again(text(0, "ame is nothing, ope")),
	}}, vault()).Generate(t.Context(), model.Request{}, func(d model.Delta) { got = append(got, d) })
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Delta{
		text(0, "say "),
		{Part: 1, Kind: chat.PartToolUse, Tool: "shell"},
		{Part: 1, Kind: chat.PartToolUse, Text: `{"a":"`},
		text(0, "[secret:WORD]!"), text(0, " "), text(0, "open door, "),
		again(text(0, "ame is nothing, ")), again(text(0, "ope")),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
