package cli

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/app"
)

// auditFlags are the flags of all that looks into a trail.
type auditFlags struct {
	settingsFlags
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
	flags.add(cmd)
	cmd.PersistentFlags().StringVar(&flags.tenant, "tenant", app.LocalTenant, "whose trail")
	cmd.AddCommand(auditHead(flags), auditShow(flags), auditVerify(flags))
	return cmd
}

// with opens the trails for a command.
func (f *auditFlags) with(cmd *cobra.Command, do func(*app.Auditor) error) error {
	loaded, err := f.load(cmd)
	if err != nil {
		return err
	}
	auditor, err := app.OpenAuditor(cmd.Context(), loaded.Settings, os.LookupEnv)
	if err != nil {
		return err
	}
	return errors.Join(do(auditor), auditor.Close())
}

func auditHead(flags *auditFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "head",
		Short:   "Verify the trail and print its head, signed, on one line",
		Example: "  retinue audit head >> /mnt/elsewhere/audit-heads",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.with(cmd, func(a *app.Auditor) error {
				line, err := a.Head(cmd.Context(), flags.tenant)
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
		Short: "Compute the trail again and hold the journal against it",
		Long: "Compute every hash of the trail again, compare it with heads that were kept, and look for decisions\n" +
			"and effects in the journal that have no entry. It ends with 0 if all is as it should be.",
		Example: "  retinue audit verify --heads /mnt/elsewhere/audit-heads",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			lines, err := keptHeads(heads, cmd.InOrStdin())
			if err != nil {
				return err
			}
			return flags.with(cmd, func(a *app.Auditor) error {
				report, err := a.Verify(cmd.Context(), flags.tenant, lines)
				if err != nil {
					return err
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
			return nil, misused("--heads: %w", err)
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
		return fmt.Errorf("the journal has %d decisions or effects that are not on the trail", len(r.Gaps))
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
	Seq          int64     `json:"seq"`
	At           time.Time `json:"at"`
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

func auditShow(flags *auditFlags) *cobra.Command {
	var after int64
	var limit int
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the entries of the trail as JSON, one on each line",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.with(cmd, func(a *app.Auditor) error {
				entries, err := a.Show(cmd.Context(), flags.tenant, after, limit)
				if err != nil {
					return err
				}
				encoder := json.NewEncoder(cmd.OutOrStdout())
				for _, e := range entries {
					err = errors.Join(err, encoder.Encode(auditLine{
						Seq: e.Seq, At: e.At, Action: string(e.Action), Outcome: string(e.Outcome), User: e.Actor.User,
						Credential: e.Actor.Credential, Source: e.Actor.Source, Conversation: e.Conversation, Object: e.Object,
						Digest: e.Digest, Detail: e.Detail, Hash: hex.EncodeToString(e.Hash[:]),
					}))
				}
				return err
			})
		},
	}
	cmd.Flags().Int64Var(&after, "after", 0, "print what comes after this entry")
	cmd.Flags().IntVar(&limit, "limit", 1000, "print at most this many")
	return cmd
}
