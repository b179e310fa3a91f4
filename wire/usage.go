package wire

// UsageLine is the usage of one group's model calls.
type UsageLine struct {
	Name  string `json:"name" doc:"The agent, role, model or conversation. A turn is named AGENT#TURN."`
	Calls int64  `json:"calls" doc:"How many model calls there were."`
	Own   Usage  `json:"own"`
	// Subtree is set for agents only.
	Subtree *Usage `json:"subtree,omitempty" doc:"For agents: the same with all agents below."`
}

// UsageSums is usage in groups and in all.
type UsageSums struct {
	Items []UsageLine `json:"items" doc:"In the order of their first call."`
	Total Usage       `json:"total" doc:"The sum of own of all items."`
}

// Usage is the usage of model calls.
type Usage struct {
	Input      int64 `json:"input" doc:"Tokens sent, those from a cache included."`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Reasoning  int64 `json:"reasoning"`
	Cost       int64 `json:"cost_micro_usd" doc:"Millionths of a US dollar."`
	Unpriced   int64 `json:"unpriced_calls" doc:"Calls whose price is not known, which the cost leaves out."`
}
