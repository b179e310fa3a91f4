// Package crash kills real processes while agents work, and compares the journal with ledgers of
// its own: the promises to clients and the effects of tools. It has tests only; they need Postgres
// on the machine, a NATS server and bin/retinue-full, and run with the build tag services.
//
// A seed draws the load and the faults. One process is the test: it serves the scripted model,
// keeps the ledgers and plays the nemesis. Servers, workers and their callers are the test's own
// binary, started again with a part to play; the engine is the program that people run. Callers
// talk to servers over HTTP, through proxies that cut connections in the middle of requests;
// clients use journal and engine directly, for tests of the code behind the servers.
package crash
