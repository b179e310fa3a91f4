package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/local"
)

// serveCommand serves the HTTP API.
func serveCommand() *cobra.Command {
	flags := &siteFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP API and the web app",
		Long: "Serve the HTTP API until stopped (Ctrl-C or SIGTERM). It needs the engine and the journal that the\n" +
			"settings name, and workers that run the agents ('retinue worker'). It keeps nothing: start as many as you\n" +
			"like behind a plain load balancer.",
		Example: "  retinue serve --set serve.address=127.0.0.1:8080 --set serve.health=127.0.0.1:8081",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return serve(cmd, flags) },
	}
	flags.Add(cmd)
	flags.addVerbose(cmd)
	return cmd
}

func serve(cmd *cobra.Command, flags *siteFlags) error {
	ctx := cmd.Context()
	s, err := flags.open(ctx, cmd, want{work: local.WorkNever, quiet: slog.LevelWarn, named: true})
	if err != nil {
		return err
	}
	front, err := s.Serve(ctx, app.FrontOptions{Version: version(), Health: app.HealthAddress})
	if err != nil {
		return errors.Join(err, s.close(ctx))
	}
	go s.Sweep(ctx)
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "serve: ready, process %d, at %s, health at %s/readyz\n", os.Getpid(), front.URL, front.Health)
	select {
	case <-ctx.Done():
	case <-front.Failed:
	}
	fmt.Fprintln(out, "serve: takes on nothing new, lets requests come to their end")
	began := time.Now()
	if err := errors.Join(front.Close(), s.close(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "serve: stopped in %s\n", output.Seconds(time.Since(began)))
	return err
}
