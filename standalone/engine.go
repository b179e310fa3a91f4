package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/standalone/engine"
)

func engineCommand() *cobra.Command {
	var options engine.Options
	var credentials, addressFile, profile, database string
	cmd := &cobra.Command{
		Use:   "engine",
		Short: "Run the workflow engine by itself",
		Long: "Run the workflow engine on a loopback address until it is interrupted. It lets in only callers\n" +
			"that show a certificate from its folder of credentials: ca.pem goes into engine.tls.ca, and\n" +
			"client.pem, which has the key in it, into engine.tls.cert.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if profile != "" {
				var stop func() error
				if stop, err = startProfile(profile); err != nil {
					return err
				}
				defer func() { err = errors.Join(err, stop()) }()
			}
			if options.Postgres, err = reveal(database); err != nil {
				return fmt.Errorf("--postgres: %w", err)
			}
			return runEngine(cmd.Context(), options, credentials, addressFile, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.SQLite, "sqlite", "", "keep the records in this file")
	flags.StringVar(&database, "postgres", "",
		"keep the records in this database and the one called `URL`_visibility, such as\npostgres://user@host:5432/engine; with a password, say where the URL is:\n{env:NAME} or {file:path}")
	flags.StringVar(&options.Listen, "listen", "127.0.0.1:0", "the loopback address to listen on; port 0 picks a free one")
	flags.StringVar(&options.Namespace, "namespace", engine.DefaultNamespace, "the namespace to make")
	flags.StringVar(&credentials, "credentials", "",
		"the folder of its certificates, made when it is missing and closed to other users")
	flags.StringVar(&addressFile, "address-file", "",
		"write the address to this file when the engine is ready;\nremoved when it ends")
	flags.StringVar(&profile, "cpu-profile", "", "write where the processor's time went to this file at the end")
	cmd.MarkFlagsOneRequired("sqlite", "postgres")
	cmd.MarkFlagsMutuallyExclusive("sqlite", "postgres")
	if err := cmd.MarkFlagRequired("credentials"); err != nil {
		panic(err) // it is defined above
	}
	return cmd
}

func runEngine(ctx context.Context, o engine.Options, credentials, addressFile string, out io.Writer) (err error) {
	e, stop, err := start(ctx, o, credentials)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if addressFile != "" {
		if err := writeAtOnce(addressFile, e.Address+"\n"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.Remove(addressFile)) }()
	}
	if _, err := fmt.Fprintf(out, "engine: ready at %s, %s\n", e.Address, e.Store); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// reveal is the value of an argument.
func reveal(text string) (string, error) {
	secret, err := config.ParseSecret(text)
	if err != nil {
		return "", err
	}
	return secret.Reveal(os.LookupEnv)
}

// startProfile begins a CPU profile that ends with the returned function.
func startProfile(file string) (stop func() error, err error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, fmt.Errorf("write the profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

// writeAtOnce writes a file that a reader finds whole or not at all.
func writeAtOnce(file, text string) (err error) {
	draft, err := os.CreateTemp(filepath.Dir(file), ".address-*")
	if err != nil {
		return fmt.Errorf("write the address: %w", err)
	}
	_, err = draft.WriteString(text)
	if err = errors.Join(err, draft.Close()); err == nil {
		err = os.Rename(draft.Name(), file)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the address: %w", err), os.Remove(draft.Name()))
	}
	return nil
}
