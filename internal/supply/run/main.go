// Command run says what the shipped programs are made of. The Makefile calls it, in the root of the
// repository:
//
//	run notice             write NOTICE
//	run notice-check       fail when NOTICE is not current, or a licence is not allowed
//	run sbom DIR           write the bill of materials of each program beside it
//	run snapshot FROM DIR  take a snapshot of the vulnerability database
//	run vulns DIR SCANNER  look for known vulnerabilities with a snapshot and govulncheck
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/retinue-dev/retinue/internal/supply"
)

const notice = "NOTICE"

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := carryOut(ctx, os.Args[1:])
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func carryOut(ctx context.Context, args []string) error {
	var verb string
	if len(args) > 0 {
		verb = args[0]
	}
	switch {
	case verb == "notice" && len(args) == 1:
		text, err := writeNotice(ctx)
		if err != nil {
			return err
		}
		return os.WriteFile(notice, text, 0o644)
	case verb == "notice-check" && len(args) == 1:
		return checkNotice(ctx)
	case verb == "sbom" && len(args) == 2:
		return bills(ctx, args[1])
	case verb == "snapshot" && len(args) == 3:
		return snapshot(ctx, args[1], args[2])
	case verb == "vulns" && len(args) == 3:
		return supply.Check{
			Root: ".", Programs: supply.Programs, Snapshot: args[1], Scanner: args[2], Now: time.Now(), Out: os.Stdout,
		}.Run(ctx)
	}
	return errors.New("say notice, notice-check, sbom DIR, snapshot FROM DIR or vulns DIR SCANNER")
}

func writeNotice(ctx context.Context) ([]byte, error) {
	parts, err := supply.All(ctx, ".")
	if err != nil {
		return nil, err
	}
	text, err := supply.Notice(parts)
	if err == nil {
		fmt.Printf("proof: %d parts, each with a licence that is allowed\n", len(parts))
	}
	return text, err
}

func checkNotice(ctx context.Context) error {
	want, err := writeNotice(ctx)
	if err != nil {
		return err
	}
	is, err := os.ReadFile(notice)
	if err != nil {
		return fmt.Errorf("read %s: %w", notice, err)
	}
	if !bytes.Equal(is, want) {
		return errors.New("NOTICE is not what the parts' licences say: run 'make notice'")
	}
	return nil
}

func bills(ctx context.Context, dir string) error {
	pages, err := supply.Packages(".")
	if err != nil {
		return err
	}
	for _, p := range supply.Programs {
		bill, err := supply.SBOM(ctx, ".", p, filepath.Join(dir, p.Name), pages)
		if err != nil {
			return err
		}
		name := filepath.Join(dir, p.Name+".cdx.json")
		if err := os.WriteFile(name, bill, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s: %d bytes\n", name, len(bill))
	}
	return nil
}

func snapshot(ctx context.Context, from, dir string) error {
	modules, err := supply.Required(ctx, ".", supply.Programs)
	if err != nil {
		return err
	}
	s, err := supply.Take(ctx, from, dir, modules)
	if err == nil {
		fmt.Printf("%s: %d reports about %d modules, database last changed on %s\n",
			dir, s.Reports, len(s.Modules), s.Changed.Format(time.DateOnly))
	}
	return err
}
