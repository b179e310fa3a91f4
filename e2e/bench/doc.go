// Package bench measures Retinue next to the bare engine: the same trees of agents through no-op
// activities and through the whole program, in one run, on both stores. make bench/engine runs it;
// the programs that it measures are processes of their own. make bench/api measures the API next to
// a bare handler that asks the journal for the same.
package bench
