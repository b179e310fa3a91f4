// Package crash kills real processes while agents work and holds what is left against ledgers of
// its own: what clients were promised and what tools did. It has tests only; they need Postgres on
// the machine and bin/retinue-full, and run with the build tag services.
//
// A seed draws the load and the faults. One process is the test: it serves the scripted model,
// keeps the ledgers and plays the nemesis. Workers and clients are the test's own binary, started
// again with a part to play; the engine is the program that people run.
package crash
