// Command run carries out the suites of one tier: run [flags] check, gate or prove. The Makefile
// calls it.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/retinue-dev/retinue/internal/tiers"
)

func main() {
	log.SetFlags(0)
	var by tiers.Choice
	flag.StringVar(&by.Only, "only", "", "run only these suites")
	flag.StringVar(&by.From, "from", "", "go on with this suite")
	changed := flag.String("changed", "", "run only suites that guard what has changed since this revision")
	list := flag.Bool("list", false, "print what would run, and run nothing")
	jobs := flag.Int("jobs", 1, "how many suites run at a time")
	keepGoing := flag.Bool("keep-going", false, "run the suites after one that failed")
	flag.Parse()
	tier := tiers.Tier(flag.Arg(0))
	if flag.NArg() != 1 || !slices.Contains([]tiers.Tier{tiers.Check, tiers.Gate, tiers.Prove}, tier) {
		log.Fatal("name one tier: check, gate or prove")
	}
	table, picked, err := choose(tier, by, *changed)
	if err != nil {
		log.Fatalf("make %s: %v", tier, err)
	}
	if len(picked) == 0 {
		fmt.Printf("make %s: no suite guards what has changed\n", tier)
		return
	}
	if *list {
		for _, s := range picked {
			fmt.Println(s.Name)
		}
		return
	}
	ok, err := carryOut(table, picked, &tiers.Runner{Root: ".", Tier: tier, Jobs: *jobs, KeepGoing: *keepGoing, Out: os.Stdout})
	if err != nil {
		log.Fatalf("make %s: %v", tier, err)
	}
	if !ok {
		os.Exit(1)
	}
}

func choose(tier tiers.Tier, by tiers.Choice, changed string) (table, picked tiers.Table, err error) {
	text, err := os.ReadFile(filepath.Join(".ci", "tiers"))
	if err != nil {
		return nil, nil, fmt.Errorf("read table: %w", err)
	}
	table, err = tiers.Parse(string(text))
	if err != nil {
		return nil, nil, fmt.Errorf(".ci/tiers: %w", err)
	}
	if changed != "" {
		by.Changed, err = tiers.Changed(".", changed)
		if err != nil {
			return nil, nil, err
		}
	}
	picked, err = table.Pick(tier, by)
	return table, picked, err
}

// carryOut runs the suites and reports whether all passed. Those of prove write down what they
// showed.
func carryOut(table, picked tiers.Table, runner *tiers.Runner) (bool, error) {
	if runner.Tier == tiers.Prove {
		commit, err := tiers.Commit(".")
		if err != nil {
			return false, err
		}
		proof := &tiers.Proof{
			Path: filepath.Join("docs", "proof.md"), Table: table, Commit: commit, Machine: tiers.Machine(), Now: time.Now,
		}
		runner.Ended = proof.Record
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	began := time.Now()
	results, err := runner.Run(ctx, picked)
	tiers.Summary(os.Stdout, runner.Tier, results, time.Since(began))
	return !slices.ContainsFunc(results, func(r tiers.Result) bool { return r.Failed }), err
}
