package export

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

const (
	// maxImport is how large an export may be that is imported.
	maxImport = 64 << 20
	// importRows is how many rows are written at a time.
	importRows = 200
	// importsAtOnce is how many are read and written at the same time, unless one tenant may send as
	// many: one place more than that is there then. Each may need much memory, since one line may be 64
	// MB.
	importsAtOnce = 3
)

// importInput is an export on its way in. It is not read into memory.
type importInput struct {
	route.Keyed
	body io.Reader
}

type importOutput struct{ Body wire.Conversation }

// Resolve implements huma.Resolver.
func (in *importInput) Resolve(ctx huma.Context) []error {
	r, w := humago.Unwrap(ctx)
	control, until := http.NewResponseController(w), time.Now().Add(admission.UploadTime)
	_ = control.SetReadDeadline(until) // where it cannot be set, the usual one holds
	_ = control.SetWriteDeadline(until)
	in.body = http.MaxBytesReader(w, r.Body, maxImport)
	return nil
}

// importConversation looks through an export before it writes anything of it.
func (s *Service) importConversation(ctx context.Context, in *importInput) (*importOutput, error) {
	file, size, sum, err := spool(in.body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // nobody reads it again
	caller := admission.CallerOf(ctx)
	ref := journal.Ref{
		Tenant: caller.Tenant, Conversation: journal.ImportPrefix + in.ID(caller, "import\x00"+sum),
	}
	if err := s.options.Room(ctx, ref, journal.Archived{}.Key(), size); err != nil {
		return nil, err
	}
	leave, err := s.importing(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	c := newInspector(ref, s.options.Now())
	if err := readExport(ctx, file, c, s.guard.Rester(caller.Tenant)); err != nil {
		return nil, err
	}
	if err := c.settled(); err != nil {
		return nil, err
	}
	// A failure leaves what is there: the same import may have been acknowledged to somebody else, and
	// a client that sends it again finishes it.
	record := audit.Record{Action: audit.ActionImport, Conversation: ref.Conversation, Digest: sum, Detail: fmt.Sprintf("entries=%d", c.tail.Seq), Key: "import/" + ref.Conversation}
	err = s.guard.Traced(ctx, record, func() error { return s.writeImport(ctx, file, ref, caller.Name) })
	if err != nil {
		return nil, err
	}
	after, err := s.options.Log.Snapshot(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &importOutput{Body: events.Conversation(after.Conversation)}, nil
}

// importing waits for a place among the imports that are read and written. Those that wait are in
// files.
func (s *Service) importing(ctx context.Context) (leave func(), err error) {
	select {
	case s.imports <- struct{}{}:
		return func() { <-s.imports }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// spool puts what arrives into a file that nobody else sees, and says how large it is and what its
// hash is.
func spool(body io.Reader) (file *os.File, size int64, sum string, err error) {
	file, err = os.CreateTemp("", "retinue-import-*")
	if err != nil {
		return nil, 0, "", fmt.Errorf("make room for an import: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, 0, "", errors.Join(fmt.Errorf("make room for an import: %w", err), file.Close())
	}
	hash := sha256.New()
	if size, err = io.Copy(io.MultiWriter(file, hash), body); err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			err = &admission.Problem{
				Status: http.StatusRequestEntityTooLarge, Code: "invalid", Detail: "an export of more than 64 MB cannot be imported",
			}
		} else if _, own := errors.AsType[*os.PathError](err); !own {
			err = &admission.Problem{Status: http.StatusBadRequest, Code: "invalid", Detail: "the export did not arrive whole", Next: "send it again"}
		}
		return nil, 0, "", errors.Join(err, file.Close())
	}
	return file, size, hex.EncodeToString(hash.Sum(nil)), nil
}

// badExport is what is wrong with a line of an export.
func badExport(line int, format string, args ...any) error {
	return &admission.Problem{
		Code: "invalid", Detail: fmt.Sprintf("line %d: ", line) + fmt.Sprintf(format, args...),
		Next: "send what exportConversation gave, unchanged",
	}
}

// exportReader takes the lines of an export.
type exportReader interface {
	entry(ctx context.Context, line int, e exportEntry, row journal.Row) error
	text(ctx context.Context, line int, t exportText) error
}

// exportLine is any line but the first.
type exportLine struct {
	exportEntry
	exportText
	Entries *int64 `json:"entries"`
	Texts   *int64 `json:"texts"`
}

// readExport reads an export from its beginning, and complains if it is not whole. It rests between
// lines.
func readExport(ctx context.Context, file io.ReadSeeker, to exportReader, work *admission.Rester) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReaderSize(file, 64<<10)
	if err := readHeader(in); err != nil {
		return err
	}
	var entries, texts int64
	for n := 2; ; n++ {
		if err := work.Rest(ctx); err != nil {
			return err
		}
		text, err := in.ReadBytes('\n')
		if err != nil {
			return badExport(n, "the end is missing")
		}
		var line exportLine
		if err := decodeLine(text, &line); err != nil {
			return badExport(n, "%v", err)
		}
		switch {
		case line.Entries != nil && line.Texts != nil:
			if *line.Entries != entries || *line.Texts != texts {
				return badExport(n, "there should be %d entries and %d texts, there are %d and %d", *line.Entries, *line.Texts, entries, texts)
			}
			if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
				return badExport(n, "there is something behind the end")
			}
			return nil
		case line.Kind != "":
			entries++
			row, err := journal.Decode(line.Kind, line.Row)
			if err != nil || texts > 0 || line.Seq != entries {
				return badExport(n, "it is not entry %d", entries)
			}
			if err := to.entry(ctx, n, line.exportEntry, row); err != nil {
				return err
			}
		case line.Hash != "":
			texts++
			if err := to.text(ctx, n, line.exportText); err != nil {
				return err
			}
		default:
			return badExport(n, "it is neither an entry nor a text")
		}
	}
}

// readHeader reads the first line.
func readHeader(in *bufio.Reader) error {
	text, err := in.ReadBytes('\n')
	if err != nil {
		return badExport(1, "the end is missing")
	}
	var h exportHeader
	if json.Unmarshal(text, &h) != nil || h.Retinue != exportName {
		return badExport(1, "this is not an export of a conversation")
	}
	if h.Version != exportVersion {
		return &admission.Problem{
			Code: "invalid", Detail: fmt.Sprintf("this is an export of version %d, and this server reads version %d", h.Version, exportVersion),
			Next: "import it on a server of the version that exported it",
		}
	}
	return nil
}

// decodeLine reads one line that means one thing only.
func decodeLine(text []byte, line *exportLine) error {
	if err := admission.Unambiguous(text); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(line)
}
