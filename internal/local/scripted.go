package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"text/tabwriter"
	"time"

	"github.com/retinue-dev/retinue/internal/model/scripted"
)

// Scripted are the settings of the scripted model server.
type Scripted struct {
	// Script is a file, Example the name of a script that comes with the program.
	Script, Example string
	// Listen is a loopback address; port 0 picks a free one.
	Listen string
	// Lax takes requests that a provider would refuse.
	Lax bool
	// Rate is how many requests per second each key may make; zero is no limit.
	Rate float64
}

// drainTimeout is how long a server that was told to end lets its streams come to theirs.
const drainTimeout = 5 * time.Second

// Check reads the script and reports what is wrong with it.
func (s Scripted) Check() error {
	_, err := s.read()
	return err
}

// Faults prints everything that a script can make go wrong.
func (Scripted) Faults(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tWHAT IT DOES\tWHAT MUST COME OF IT")
	for _, f := range scripted.Faults() {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", f.ID, f.Name, f.Does, f.Must)
	}
	return table.Flush()
}

// Run serves the script until ctx ends. It prints where it listens to out and logs each request to
// log.
func (s Scripted) Run(ctx context.Context, out, log io.Writer) error {
	script, err := s.read()
	if err != nil {
		return err
	}
	model, err := scripted.New(script, scripted.Options{
		Lax: s.Lax, Rate: s.Rate, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		return err
	}
	server, err := scripted.Listen(s.Listen, model)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "scripted model %q is listening; it answers by rule and knows nothing\n"+
		"anthropic base url  %s\nopenai base url     %s\nmeter               %s/_scripted/meter\n",
		script.Name, server.AnthropicURL(), server.OpenAIURL(), server.AnthropicURL())
	<-ctx.Done()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err = server.Shutdown(drain)
	m := model.Meter()
	fmt.Fprintf(out, "served %d requests, %d answered, %d refused, %d limited; billed %d input and %d output tokens\n",
		m.Requests, m.Answered, m.Refused, m.Limited, m.Billed.Input, m.Billed.Output)
	return err
}

func (s Scripted) read() (*scripted.Script, error) {
	switch {
	case s.Script != "" && s.Example != "":
		return nil, errors.New("both a script and an example are named: choose one")
	case s.Example != "":
		return scripted.Example(s.Example)
	}
	text, err := os.ReadFile(s.Script)
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	return scripted.Parse(s.Script, text)
}
