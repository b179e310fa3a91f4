package cli

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/cli/exit"
	"github.com/retinue-dev/retinue/internal/cli/settings"
)

// auditFlags are the flags of all that looks into a trail.
type auditFlags struct {
	settings.Flags
	tenant string
}

// auditCommand looks into the audit trail.
func auditCommand() *cobra.Command {
	flags := &auditFlags{}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Look into the audit trail, and verify that nobody changed it",
		Long: "Every command that a person or a program gave, every decision on an approval and every call that\n" +
			"must not happen twice is on the audit trail before it takes effect. The trail of a tenant is a chain\n" +
			"of hashes: a change anywhere shows. That its end was not cut off shows with a head that was kept\n" +
			"somewhere else: run 'retinue audit head' every day and keep what it prints.",
	}
	flags.Add(cmd)
	cmd.PersistentFlags().StringVar(&flags.tenant, "tenant", "", "whose trail (default all)")
	cmd.AddCommand(auditCertificate(flags), auditHead(flags), auditShow(flags), auditVerify(flags))
	return cmd
}

// each opens the trails for a command, and hands it those that are meant, one after another.
func (f *auditFlags) each(cmd *cobra.Command, heads []string, do func(a *app.Auditor, tenant string) error) error {
	loaded, err := f.Load(cmd)
	if err != nil {
		return err
	}
	auditor, err := app.OpenAuditor(cmd.Context(), loaded.Settings, os.LookupEnv)
	if err != nil {
		return err
	}
	tenants, err := auditor.Tenants(cmd.Context(), f.tenant, heads)
	for _, tenant := range tenants { // one that is broken does not hide the others
		err = errors.Join(err, do(auditor, tenant))
	}
	return errors.Join(err, auditor.Close())
}

func auditHead(flags *auditFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "head",
		Short:   "Verify each trail and print its head, signed, on one line",
		Example: "  retinue audit head >> /mnt/elsewhere/audit-heads",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.each(cmd, nil, func(a *app.Auditor, tenant string) error {
				line, err := a.Head(cmd.Context(), tenant)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), line)
				return err
			})
		},
	}
}

func auditVerify(flags *auditFlags) *cobra.Command {
	var heads string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Compute each trail again and hold the journal against it",
		Long: "Compute every hash of each trail again, compare it with heads that were kept, and look for decisions\n" +
			"and effects in the journal that have no entry. It ends with 0 if all is as it should be.",
		Example: "  retinue audit verify --heads /mnt/elsewhere/audit-heads",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			lines, err := keptHeads(heads, cmd.InOrStdin())
			if err != nil {
				return err
			}
			return flags.each(cmd, lines, func(a *app.Auditor, tenant string) error {
				report, err := a.Verify(cmd.Context(), tenant, lines)
				if err != nil {
					return fmt.Errorf("tenant %s: %w", tenant, err)
				}
				return sayVerified(cmd.OutOrStdout(), report)
			})
		},
	}
	cmd.Flags().StringVar(&heads, "heads", "", "a file with heads that were kept, one on each line; - reads them from the input")
	return cmd
}

// keptHeads reads the lines of a file that are not empty.
func keptHeads(path string, in io.Reader) ([]string, error) {
	switch path {
	case "":
		return nil, nil
	case "-":
	default:
		file, err := os.Open(path)
		if err != nil {
			return nil, exit.Misused("--heads: %w", err)
		}
		defer file.Close() //nolint:errcheck // it was only read
		in = file
	}
	var out []string
	scanner := bufio.NewScanner(in)
	for scanner.Scan() {
		if line := strings.TrimSpace(scanner.Text()); line != "" {
			out = append(out, line)
		}
	}
	return out, scanner.Err()
}

func sayVerified(out io.Writer, r app.AuditReport) error {
	for _, gap := range r.Gaps {
		fmt.Fprintln(out, "not on the trail:", gap)
	}
	if len(r.Gaps) > 0 {
		return fmt.Errorf("the journal has %d decisions or effects that are not on the trail of %s", len(r.Gaps), r.Tenant)
	}
	against := "no kept head to compare with: the end may have been cut off"
	if r.Heads > 0 {
		against = fmt.Sprintf("it goes on from all %d kept heads", r.Heads)
	}
	_, err := fmt.Fprintf(out, "the trail of %s is whole: %d entries; %s\n%d decisions and effects in %d conversations are all on it\n",
		r.Tenant, r.Entries, against, r.Checked, r.Conversations)
	return err
}

// auditLine is an entry as programs read it.
type auditLine struct {
	Tenant       string    `json:"tenant"`
	Seq          int64     `json:"seq"`
	At           time.Time `json:"ts"`
	Action       string    `json:"action"`
	Outcome      string    `json:"outcome"`
	User         string    `json:"user,omitempty"`
	Credential   string    `json:"credential,omitempty"`
	Source       string    `json:"source,omitempty"`
	Conversation string    `json:"conversation,omitempty"`
	Object       string    `json:"object,omitempty"`
	Digest       string    `json:"digest,omitempty"`
	Detail       string    `json:"detail,omitempty"`
	Hash         string    `json:"hash"`
}

// writeEntries prints entries for people: when, what, who, to what, and the details.
func writeEntries(out io.Writer, entries []app.AuditEntry) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, e := range entries {
		action := string(e.Action)
		if e.Outcome != "accepted" {
			action += " (" + string(e.Outcome) + ")"
		}
		who := cmp.Or(e.Actor.User, "-")
		if e.Actor.Credential != "" && e.Actor.Credential != "session:"+e.Actor.User {
			who += " by " + e.Actor.Credential
		}
		what := strings.Trim(e.Conversation+" "+e.Object, " ")
		_, err := fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\n", e.Seq, e.At.Local().Format(time.DateTime), printable(action),
			printable(who), cmp.Or(printable(what), "-"), printable(e.Detail))
		if err != nil {
			return err
		}
	}
	return table.Flush()
}

// printable keeps what somebody chose from moving the cursor or making up lines.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\ufffd'
		}
		return r
	}, text)
}

func auditShow(flags *auditFlags) *cobra.Command {
	var after int64
	var limit int
	var text bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the entries of the trail, as JSON or as text, one on each line",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.each(cmd, nil, func(a *app.Auditor, tenant string) error {
				entries, err := a.Show(cmd.Context(), tenant, after, limit)
				if err != nil {
					return err
				}
				if text {
					return writeEntries(cmd.OutOrStdout(), entries)
				}
				encoder := json.NewEncoder(cmd.OutOrStdout())
				for _, e := range entries {
					err = errors.Join(err, encoder.Encode(auditLine{
						Tenant: tenant, Seq: e.Seq, At: e.At, Action: string(e.Action), Outcome: string(e.Outcome), User: e.Actor.User,
						Credential: e.Actor.Credential, Source: e.Actor.Source, Conversation: e.Conversation, Object: e.Object,
						Digest: e.Digest, Detail: e.Detail, Hash: hex.EncodeToString(e.Hash[:]),
					}))
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&text, "text", false, "print for people: when, what, who, to what")
	cmd.Flags().Int64Var(&after, "after", 0, "print what comes after this entry of a trail")
	cmd.Flags().IntVar(&limit, "limit", 1000, "print at most this many of a trail")
	return cmd
}
