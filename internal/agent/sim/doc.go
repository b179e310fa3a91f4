// Package sim plays whole conversations against the core: an orchestrator, its children and theirs,
// a model, tools and people, under crashes, duplicates, delays and lost acknowledgements, all drawn
// from one seed. After every step it holds the laws of the core (Check) and of its transcripts
// (Scribe).
//
// It is test support: it may import agent and chat, and nothing that ships may import it.
package sim
