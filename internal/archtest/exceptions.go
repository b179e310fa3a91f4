package archtest

// Exceptions are the subjects that may be over a bound of Judge, each with its reason. One that
// nothing needs any more is a finding itself.
var Exceptions = []Exception{
	{
		"internal/agent", "one machine runs every agent, and each event may touch every part of its state: " +
			"a cut would export the state, and no part can be read without the rest",
	},
	{
		"internal/leg", "one struct with 128 methods: what calls models, runs tools and records shares the rows of a step, its " +
			"fence and its position; each cut would export these, and what needs none of them is in host and agent/receipt",
	},
}
