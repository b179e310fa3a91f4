package wire

import "time"

// Question is an agent's question.
type Question struct {
	ID      string     `json:"id" doc:"Names it in its conversation. A message that answers it has it as in_reply_to."`
	Seq     int64      `json:"seq"`
	Agent   string     `json:"agent"`
	Task    string     `json:"task"`
	Status  string     `json:"status" enum:"open,relayed,closed"`
	Text    string     `json:"text,omitempty"`
	Options []string   `json:"options,omitempty"`
	By      string     `json:"by,omitempty"`
	At      time.Time  `json:"at"`
	Until   *time.Time `json:"until,omitempty"`
}
