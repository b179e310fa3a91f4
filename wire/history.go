package wire

// History is a page of what was recorded in a conversation, the oldest first.
type History struct {
	Events []Event `json:"events"`
	Seq    int64   `json:"seq" doc:"The last entry that the page covers, an event or not: send it as after for the next page."`
	More   bool    `json:"more" doc:"Whether more was recorded by then."`
}
