package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/app"
)

func auditCertificate(flags *auditFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "certificate",
		Short: "Print what deletions of tenants removed, and verify that the trail bears it out",
		Long: "Compute each trail again, add up what it says was erased between the request to delete the tenant and its end, and\n" +
			"compare that with the certificate which stands there. It ends with 0 if all certificates fit.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := 0
			err := flags.each(cmd, nil, func(a *app.Auditor, tenant string) error {
				list, err := a.Certificates(cmd.Context(), tenant)
				if err != nil {
					return fmt.Errorf("tenant %s: %w", tenant, err)
				}
				for _, c := range list {
					found++
					err = errors.Join(err, sayCertificate(cmd.OutOrStdout(), c))
				}
				return err
			})
			if err == nil && found == 0 {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), "no tenant was deleted")
			}
			return err
		},
	}
}

// sayCertificate prints a certificate, and complains if the trail does not bear it out.
func sayCertificate(out io.Writer, c *app.AuditCertificate) error {
	w := c.Sum()
	fmt.Fprintf(out, "tenant %s: deletion asked for by %s (%s) at %s, entry %d\n", c.Tenant, printable(c.Actor.User), printable(c.Actor.Source),
		c.Began.UTC().Format(time.RFC3339), c.From)
	fmt.Fprintf(out, "removed: conversations=%d rows=%d texts=%d bytes=%d\n", len(c.Erased), w.Rows, w.Texts, w.Bytes)
	for _, id := range slices.Sorted(maps.Keys(c.Erased)) {
		e := c.Erased[id]
		fmt.Fprintf(out, "  %s rows=%d texts=%d bytes=%d\n", printable(id), e.Rows, e.Texts, e.Bytes)
	}
	switch {
	case c.Seq == 0:
		_, err := fmt.Fprintln(out, "it is under way: there is no certificate yet")
		return err
	case !c.Fits:
		return fmt.Errorf("the certificate in entry %d of %s does not say what the entries before it say", c.Seq, c.Tenant)
	}
	_, err := fmt.Fprintf(out, "ended at %s, certificate in entry %d, digest %s: the entries before it say the same\n",
		c.Ended.UTC().Format(time.RFC3339), c.Seq, c.Digest())
	return err
}
