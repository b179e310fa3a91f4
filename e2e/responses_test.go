//go:build services

package e2e

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

func input(text string) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: "retinue", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)},
	}
}

// read streams a response and returns its joined deltas, and its last event.
func (b bridged) read(ctx context.Context, t *testing.T, p responses.ResponseNewParams) (string, *responses.Response) {
	t.Helper()
	client := b.sdk(adaToken)
	s := client.Responses.NewStreaming(ctx, p)
	text, next := "", int64(0)
	var last *responses.Response
	for s.Next() {
		e := s.Current()
		if e.SequenceNumber != next {
			t.Errorf("event %d comes as number %d", next, e.SequenceNumber)
		}
		next++
		switch v := e.AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += v.Delta
		case responses.ResponseCompletedEvent:
			last = &v.Response
		case responses.ResponseFailedEvent:
			last = &v.Response
		case responses.ResponseIncompleteEvent:
			last = &v.Response
		case responses.ResponseErrorEvent:
			t.Errorf("error %s", v.Message)
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	if last == nil {
		t.Fatal("a stream without an end")
	}
	return text, last
}

func responsesPlain(t *testing.T, on *stack) {
	b := bridge(t, on, "responses-plain", "", plainModel, nil)
	ctx, client := briefly(t), b.sdk(adaToken)
	whole, err := client.Responses.New(ctx, input("Why is the sea salty?"))
	if err != nil {
		t.Fatal(err)
	}
	if whole.OutputText() != salty || whole.Status != "completed" || whole.Usage.TotalTokens == 0 {
		t.Errorf("response %s", whole.RawJSON())
	}
	text, last := b.read(ctx, t, input("Why is the sea salty?"))
	if text != salty || last.OutputText() != salty {
		t.Errorf("streamed %q, ended with %q", text, last.OutputText())
	}
	next := input("Really?")
	next.PreviousResponseID = openai.String(last.ID)
	second, err := client.Responses.New(ctx, next)
	if err != nil {
		t.Fatal(err)
	}
	if second.OutputText() != "As I said." || second.PreviousResponseID != last.ID {
		t.Errorf("went on with %q", second.OutputText())
	}
	again, err := client.Responses.Get(ctx, last.ID, responses.ResponseGetParams{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(last.OutputText(), again.OutputText()); diff != "" || again.Status != "completed" {
		t.Errorf("read again: %s %s", again.Status, diff)
	}
	failed, err := client.Responses.New(ctx, input("Break"))
	if err != nil {
		t.Fatal(err)
	}
	if failed.Status != "failed" || failed.Error.Message == "" {
		t.Errorf("failed %s", failed.RawJSON())
	}
	stranger := b.sdk(bobToken)
	for _, id := range []string{last.ID, "resp_c-unknown.m-unknown", "resp_"} {
		_, err := stranger.Responses.Get(ctx, id, responses.ResponseGetParams{})
		if got, ok := errors.AsType[*openai.Error](err); !ok || got.StatusCode != 404 || got.Code != "not_found" {
			t.Errorf("%s of somebody else: %v", id, err)
		}
	}
}

func responsesAsk(t *testing.T, on *stack) {
	b := bridge(t, on, "responses-ask", "", paintModel, nil)
	ctx := briefly(t)
	text, last := b.read(ctx, t, input("Paint it"))
	const asks = "I send a painter.Which colour should it be?\n- yellow\n- green"
	if text != asks || last.OutputText() != asks || extraOf(t, last.RawJSON()).Status != "waiting" {
		t.Errorf("asked %q, %q", text, last.OutputText())
	}
	next := input("yellow, please")
	next.PreviousResponseID = openai.String(last.ID)
	if text, last = b.read(ctx, t, next); text != "Painted in yellow." || last.Status != "completed" {
		t.Errorf("answered %q, %s", text, last.Status)
	}
}

func responsesBackground(t *testing.T, on *stack) {
	b := bridge(t, on, "responses-background", "", plainModel, nil)
	ctx, client := briefly(t), b.sdk(adaToken)
	p := input("Think")
	p.Background = openai.Bool(true)
	begun, err := client.Responses.New(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	if begun.Status != "in_progress" {
		t.Errorf("begun as %s", begun.Status)
	}
	if err := b.until(ctx, func() (bool, error) { return b.provider.begun("slow") > 0, nil }); err != nil {
		t.Fatal(err)
	}
	ended, err := client.Responses.Cancel(ctx, begun.ID)
	if err != nil {
		t.Fatal(err)
	}
	if ended.Status != "cancelled" {
		t.Errorf("cancelled: %s", ended.RawJSON())
	}
}
