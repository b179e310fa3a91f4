package openai

import (
	"errors"
	"net/http"

	"github.com/retinue-dev/retinue/internal/bridge"
)

// piece is one event of a streamed response. Each type has some of the fields.
type piece struct {
	Type     string     `json:"type"`
	Sequence int        `json:"sequence_number"`
	Response *response  `json:"response,omitempty"`
	Output   *int       `json:"output_index,omitempty"`
	Content  *int       `json:"content_index,omitempty"`
	ItemID   string     `json:"item_id,omitempty"`
	Item     *item      `json:"item,omitempty"`
	Part     *part      `json:"part,omitempty"`
	Delta    *string    `json:"delta,omitempty"`
	Text     *string    `json:"text,omitempty"`
	Logprobs []struct{} `json:"logprobs,omitempty"`
	Code     string     `json:"code,omitempty"`
	Message  string     `json:"message,omitempty"`
	Retinue  *extension `json:"retinue,omitempty"`
}

// pieces sends a response as it is written.
type pieces struct {
	stream
	x        *bridge.UserTurn
	head     response
	sequence int
	// items are the messages that were begun, by their ids.
	items map[string]int
}

func (p *pieces) send(e piece) error {
	e.Sequence = p.sequence
	p.sequence++
	return p.event(e.Type, e)
}

// about is a piece of a message's text.
func (p *pieces) about(kind, id string) piece {
	output, first := p.items[id], 0
	return piece{Type: kind, Output: &output, Content: &first, ItemID: itemID(p.x, id)}
}

// begin announces a message.
func (p *pieces) begin(id string) error {
	if _, ok := p.items[id]; ok {
		return nil
	}
	output := len(p.items)
	p.items[id] = output
	it := itemOf(p.x, id, "")
	it.Status, it.Content = "in_progress", []part{}
	if err := p.send(piece{Type: "response.output_item.added", Output: &output, Item: &it}); err != nil {
		return err
	}
	e, empty := p.about("response.content_part.added", id), partOf("")
	e.Part = &empty
	return p.send(e)
}

func (p *pieces) delta(id, text string, ext *extension) error {
	if text == "" {
		return nil
	}
	e := p.about("response.output_text.delta", id)
	e.Delta, e.Retinue = &text, ext
	return p.send(e)
}

// end sends the recorded text of a message.
func (p *pieces) end(id, text string) error {
	e := p.about("response.output_text.done", id)
	e.Text = &text
	if err := p.send(e); err != nil {
		return err
	}
	e, whole := p.about("response.content_part.done", id), partOf(text)
	e.Part = &whole
	if err := p.send(e); err != nil {
		return err
	}
	output, it := p.items[id], itemOf(p.x, id, text)
	return p.send(piece{Type: "response.output_item.done", Output: &output, Item: &it})
}

// message sends a whole message.
func (p *pieces) message(id, text string) error {
	if err := p.begin(id); err != nil {
		return err
	}
	if err := p.delta(id, text, nil); err != nil {
		return err
	}
	return p.end(id, text)
}

// tell sends news.
func (p *pieces) tell(n bridge.News) error {
	switch {
	case n.Beat:
		return p.beat()
	case n.Event != nil:
		// No type of OpenAI's is about other agents; clients know that this one comes at any time.
		return p.send(piece{Type: "response.in_progress", Response: &p.head, Retinue: happened(p.x, *n.Event)})
	}
	if err := p.begin(n.Message); err != nil {
		return err
	}
	text, ext := n.Text, (*extension)(nil)
	if n.Again {
		text, ext = bridge.Between+text, extend(p.x, bridge.StateRuns)
		ext.Restarted = true
	}
	if err := p.delta(n.Message, text, ext); err != nil || n.Whole == "" {
		return err
	}
	return p.end(n.Message, n.Whole)
}

func (w routes) responseStream(rw http.ResponseWriter, r *http.Request, x *bridge.UserTurn, head response) {
	out, err := open(rw, x)
	if err != nil {
		return
	}
	p := &pieces{stream: out, x: x, head: head, items: map[string]int{}}
	for _, kind := range []string{"response.created", "response.in_progress"} {
		if p.send(piece{Type: kind, Response: &head}) != nil {
			w.Gone(r, x)
			return
		}
	}
	result, err := w.watch(r, x, p.tell)
	if err != nil {
		if !errors.Is(err, errGone) {
			f := w.problem(r, err)
			_ = p.send(piece{Type: "error", Code: f.Error.Code, Message: f.Error.Message}) // it may have gone
		}
		return
	}
	if result.State == bridge.StateWaits {
		if p.message(askID, bridge.AskWords(x.Asks(result.Pending))) != nil {
			return
		}
	}
	last := head.fill(x, result)
	_ = p.send(piece{Type: "response." + ending(last.Status), Response: &last}) // it may have gone
}

// ending is the type of the last event. A cancelled response has none.
func ending(status string) string {
	if status == "cancelled" {
		return "incomplete"
	}
	return status
}
