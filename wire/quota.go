package wire

import "time"

// Quotas is how much the caller's tenant may use, and how much of it is used.
type Quotas struct {
	Month   MonthQuota   `json:"month"`
	Storage StorageQuota `json:"storage"`
	AtOnce  AtOnceQuota  `json:"at_once"`
}

// StorageQuota is how much the conversations of a tenant may hold.
type StorageQuota struct {
	Most int64 `json:"most_bytes,omitempty" doc:"What its conversations may hold; absent if any amount. A tenant that holds more can answer, decide and delete, but begin, say and import nothing."`
	Used int64 `json:"used_bytes" doc:"What its conversations hold: rows, texts and images, private ones with them."`
}

// AtOnceQuota is how much a tenant may do at the same time. An absent field means no bound.
type AtOnceQuota struct {
	Agents   int `json:"agents,omitempty" doc:"Agents that work at the same time on one worker. More wait for their turn."`
	Searches int `json:"searches,omitempty" doc:"Searches at one server. More are refused."`
	Imports  int `json:"imports,omitempty" doc:"Imports that arrive at one server. More are refused."`
	Streams  int `json:"streams,omitempty" doc:"Streams of events that are open at one server. More are refused."`
}

// MonthQuota is a tenant's budget for models in a calendar month.
type MonthQuota struct {
	Name   string    `json:"name" doc:"The month, in UTC." example:"2026-11"`
	Ends   time.Time `json:"ends" doc:"When the next month begins."`
	Budget int64     `json:"budget_micro_usd,omitempty" doc:"What the tenant may spend in the month; absent if any amount."`
	Spent  int64     `json:"spent_micro_usd" doc:"What was spent and what is reserved for calls under way. Counted only while there is a budget."`
}
