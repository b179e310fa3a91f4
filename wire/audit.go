package wire

import "time"

// AuditEntry is one entry of the tenant's audit trail.
type AuditEntry struct {
	Seq          int64     `json:"seq" doc:"Its place in the chain, from 1 without a gap."`
	At           time.Time `json:"ts"`
	Action       string    `json:"action" example:"approval.decide"`
	Outcome      string    `json:"outcome" enum:"accepted,failed,denied"`
	User         string    `json:"user,omitempty"`
	Credential   string    `json:"credential,omitempty" doc:"Names what was shown, without being of use to anybody."`
	Source       string    `json:"source,omitempty"`
	Conversation string    `json:"conversation,omitempty"`
	Object       string    `json:"object,omitempty" doc:"What it was done to, within the conversation."`
	Digest       string    `json:"digest,omitempty" doc:"What was shown or decided, as a hash."`
	Detail       string    `json:"detail,omitempty"`
	Hash         string    `json:"hash" doc:"SHA-256 over the hash before it and all of the entry."`
}

// AuditPage is a part of a trail.
type AuditPage struct {
	Items []AuditEntry `json:"items" doc:"In the order of the chain."`
	After int64        `json:"after,omitempty" doc:"Ask with this for what comes next; absent when nothing does."`
}
