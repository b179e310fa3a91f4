// Package crash kills real processes while agents work, and compares the journal with ledgers of
// its own: the promises to clients and the effects of tools. It has tests only; they need Postgres
// on the machine, a NATS server and bin/retinue-full, and run with the build tag services.
//
// A seed draws the load and the faults. One process is the test: it serves the scripted model,
// keeps the ledgers and plays the nemesis. Servers, workers and those who talk to them are the
// test's own binary, started again with a part to play; the engine is the program that people run.
// Callers talk to servers over HTTP, through proxies that cut connections in the middle of
// requests; clients have journal and engine in their own hands, for tests of what lies behind the
// servers.
package crash
