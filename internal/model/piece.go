package model

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/retinue-dev/retinue/internal/chat"
)

// maxMalformed is how much of arguments that cannot be used is kept to show the model.
const maxMalformed = 4 << 10

// replacement replaces bytes of a provider that are no text: those that are not UTF-8, and the zero
// byte, which databases refuse.
const replacement = "\uFFFD"

// Piece is one part of a reply on its way.
type Piece struct {
	x     *Exchange
	order int64
	kind  chat.PartKind
	// index is the piece's place among the deltas, -1 before the first.
	index   int
	tool    string
	whole   string
	text    strings.Builder
	seal    strings.Builder
	garbled bool
}

// Add appends to the text, the thinking or the arguments.
func (p *Piece) Add(text string) {
	if text == "" {
		return
	}
	clean := strings.ReplaceAll(strings.ToValidUTF8(text, replacement), "\x00", replacement)
	p.garbled = p.garbled || clean != text
	if !p.x.grow(len(clean)) {
		return
	}
	p.text.WriteString(clean)
	switch {
	case p.index >= 0:
		p.tell(Delta{Text: clean})
	case p.kind == chat.PartToolUse, strings.TrimSpace(clean) != "":
		p.tell(Delta{Tool: p.tool, Text: p.text.String()})
	}
}

// Name says which tool a call asks for. Servers may say it again with every event; the first name
// counts.
func (p *Piece) Name(tool string) {
	if tool == "" || p.tool != "" || !p.x.grow(len(tool)) {
		return
	}
	p.tool = tool
	p.tell(Delta{Tool: tool})
}

// Whole sets arguments that came in one go; they count if no others are added.
func (p *Piece) Whole(args string) {
	if p.x.grow(len(args)) {
		p.whole = args
	}
}

// Seal appends to what the provider will know its thinking by.
func (p *Piece) Seal(seal string) {
	if p.x.grow(len(seal)) {
		p.seal.WriteString(seal)
		p.claim()
	}
}

// claim takes the next place in the reply, once it is sure that the piece will be part of it.
func (p *Piece) claim() {
	if p.index < 0 {
		p.index = p.x.shown
		p.x.shown++
	}
}

func (p *Piece) tell(d Delta) {
	p.claim()
	d.Part, d.Kind = p.index, p.kind
	p.x.tell(d)
}

// part is the finished part, if there is anything in it.
func (p *Piece) part() (chat.Part, bool) {
	text := p.text.String()
	full := strings.TrimSpace(text) != "" || p.kind == chat.PartThinking && p.seal.Len() > 0
	return chat.Part{Kind: p.kind, Text: text, Seal: p.seal.String()}, full
}

// call is the finished tool_use, and whether it may be run: its arguments must be one whole object
// and its name one that can be sent back. No argument at all stands for an empty object only when
// the model stopped in order to call and the tool requires nothing.
func (p *Piece) call(id string, mayBeEmpty bool) (chat.Part, bool) {
	raw := p.text.String()
	if raw == "" {
		raw = p.whole
	}
	out := chat.Part{Kind: chat.PartToolUse, Call: id, Tool: WireTool(p.tool), Args: raw}
	if raw == "" && mayBeEmpty {
		out.Args = "{}"
	}
	if chat.Object(out.Args) && !p.garbled && out.Tool == p.tool {
		return out, true
	}
	out.Args = malformed(raw)
	return out, false
}

// malformed wraps unusable arguments, so that the model can see them.
func malformed(raw string) string {
	if len(raw) > maxMalformed {
		cut := maxMalformed
		for cut > 0 && !utf8.RuneStart(raw[cut]) {
			cut--
		}
		raw = raw[:cut]
	}
	args, err := json.Marshal(map[string]string{"malformed": strings.ToValidUTF8(raw, replacement)})
	if err != nil {
		panic("model: a map of strings is always JSON: " + err.Error())
	}
	return string(args)
}
