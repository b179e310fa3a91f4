package scripted

import (
	"context"
	"testing"
)

func TestAnAnswerIsHeldUntilItIsReleased(t *testing.T) {
	asked, released := make(chan string), make(chan struct{})
	hold := func(ctx context.Context, rule string) {
		asked <- rule
		select {
		case <-released:
		case <-ctx.Done():
		}
	}
	s := serve(t, &Script{Rules: []Rule{{Name: "held", Reply: Reply{Text: "x"}}}}, Options{Hold: hold})
	answers := make(chan got)
	begin := func(ctx context.Context) {
		go func() { answers <- post(t, s, OpenAI, openaiHello, within(ctx)) }()
		if rule := <-asked; rule != "held" {
			t.Errorf("the rule that is held is called %q", rule)
		}
	}

	ctx, leave := context.WithCancel(t.Context())
	begin(ctx)
	leave()
	if g := <-answers; g.err == nil {
		t.Errorf("who has left got %+v", g)
	}
	settled(t, s)

	begin(t.Context())
	select {
	case g := <-answers:
		t.Fatalf("an answer came before it was released: %+v", g)
	default:
	}
	if attempts := s.Meter().Attempts; attempts[1].Rule != "held" || attempts[1].Frames != 0 {
		t.Errorf("the meter does not tell which rule is held: %+v", attempts)
	}
	close(released)
	if g := <-answers; g.err != nil || g.status != 200 {
		t.Errorf("after the release: %+v", g)
	}
}
