package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/cli/settings"
)

// tenantCommand is what an operator does to tenants.
func tenantCommand() *cobra.Command {
	flags := &settings.Flags{}
	cmd := &cobra.Command{Use: "tenant", Short: "Delete a tenant of an installation that several share"}
	flags.Add(cmd)
	cmd.AddCommand(tenantDelete(flags))
	return cmd
}

func tenantDelete(flags *settings.Flags) *cobra.Command {
	var name string
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "delete TENANT",
		Short: "Delete a tenant with everything in it, for good",
		Long: "Delete a tenant: its conversations, webhooks, members, sessions, keys and settings. Nothing new begins in it from now\n" +
			"on, and a server ('retinue serve') carries the deletion out, also after a restart. The audit trail stays, with a\n" +
			"certificate at its end: 'retinue audit certificate'. Folders of workspaces are the operator's and stay.",
		Example: "  retinue tenant delete t4kq2… --name \"Acme\" --wait 10m",
		Args:    cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			if name == "" {
				return errors.New("--name is missing: say the name of the tenant, so that no other is deleted")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			loaded, err := flags.Load(cmd)
			if err != nil {
				return err
			}
			r, err := app.OpenRegistry(cmd.Context(), loaded.Settings, os.LookupEnv)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, r.Close()) }()
			d, err := r.DeleteTenant(cmd.Context(), args[0], name)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "tenant: %s is being deleted, asked for by %s at %s\n", d.Tenant, d.By, d.At.Format(time.RFC3339))
			if wait == 0 {
				return nil
			}
			return awaitDeleted(cmd, r, args[0], wait)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "the name of the tenant, as its members see it")
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait this long until nothing is left")
	return cmd
}

// deletedGlance is the time between two looks whether a tenant is gone.
const deletedGlance = time.Second

// awaitDeleted waits until nothing of a tenant is left.
func awaitDeleted(cmd *cobra.Command, r *app.Registry, tenant string, wait time.Duration) error {
	ctx, stop := context.WithTimeout(cmd.Context(), wait)
	defer stop()
	for {
		gone, err := r.Deleted(ctx, tenant)
		if gone {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "tenant: nothing of %s is left but its audit trail\n", tenant)
		}
		if gone || (err != nil && ctx.Err() == nil) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is still being deleted: servers go on with it; look again with the same command", tenant)
		case <-time.After(deletedGlance):
		}
	}
}
