package wire

import "time"

// MaxText is how many characters a message may have.
const MaxText = 200_000

// NewMessage is something to say.
type NewMessage struct {
	Text      string `json:"text" minLength:"1" maxLength:"200000"`
	InReplyTo string `json:"in_reply_to,omitempty" maxLength:"512" doc:"The question that this answers."`
	Decline   bool   `json:"decline,omitempty" doc:"The question will not be answered; text says why."`
}

// Part is a piece of a message.
type Part struct {
	Kind   string `json:"kind" enum:"text,thinking,tool_use,tool_result,image"`
	Text   string `json:"text,omitempty"`
	Call   string `json:"call,omitempty" doc:"Ties a tool_use to its tool_result."`
	Tool   string `json:"tool,omitempty"`
	Args   string `json:"args,omitempty" doc:"The arguments of a tool_use, as JSON text."`
	Image  string `json:"image,omitempty" doc:"The hash under which the image is kept."`
	Failed bool   `json:"failed,omitempty"`
}

// Message is one message of a chat or of an agent's transcript.
type Message struct {
	ID      string    `json:"id"`
	Seq     int64     `json:"seq"`
	Number  int64     `json:"number,omitempty" doc:"Counts what people posted."`
	At      time.Time `json:"at"`
	Agent   string    `json:"agent" doc:"Whose transcript it is in."`
	Speaker string    `json:"speaker" enum:"user,assistant,system,tool"`
	By      string    `json:"by,omitempty" doc:"Who posted it."`
	Turn    int       `json:"turn,omitempty"`
	Parts   []Part    `json:"parts"`
	Reads   []int64   `json:"reads,omitempty" doc:"The numbers of the posted messages that the agent reads with this one."`
	State   string    `json:"state,omitempty" enum:"received,delivered,read" doc:"How far a posted message has come: recorded, known to the orchestrator, part of what its model is sent. Listings have it; in events message.delivered and reads of message.completed say it."`
}

// Text is the text of the message, without thinking and calls.
func (m Message) Text() string {
	text := ""
	for _, p := range m.Parts {
		if p.Kind == "text" {
			text += p.Text
		}
	}
	return text
}
