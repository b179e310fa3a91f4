package wire

import "time"

// Waiting is something that waits for a person.
type Waiting struct {
	Conversation string    `json:"conversation"`
	At           time.Time `json:"at"`
	// One of the two is set.
	Approval *Approval `json:"approval,omitempty"`
	Question *Question `json:"question,omitempty"`
	Role     string    `json:"role" doc:"Who asks."`
}
