package export

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

const (
	// exportName and exportVersion begin every export.
	exportName    = "conversation"
	exportVersion = 1
	// linesType is the content type of JSON Lines.
	linesType = "application/x-ndjson"
	// exportPage is how many entries are read at a time.
	exportPage = 200
	// writeTime is how long a reader may take to take a page.
	writeTime = 30 * time.Second
)

// The lines of an export, in their order: one header, the entries, the texts, one end.
type (
	// exportHeader begins an export.
	exportHeader struct {
		Retinue      string    `json:"retinue"`
		Version      int       `json:"version"`
		Conversation string    `json:"conversation"`
		At           time.Time `json:"exported_at"`
	}
	// exportEntry is one entry of the journal.
	exportEntry struct {
		Seq    int64           `json:"seq"`
		Number int64           `json:"number,omitempty"`
		At     time.Time       `json:"at"`
		Kind   journal.Kind    `json:"kind"`
		Key    string          `json:"key"`
		Row    json.RawMessage `json:"row"`
	}
	// exportText is a kept text that an entry refers to.
	exportText struct {
		Hash string `json:"hash"`
		Text string `json:"text"`
	}
	// exportEnd says that nothing was cut off.
	exportEnd struct {
		Entries int64 `json:"entries"`
		Texts   int64 `json:"texts"`
	}
)

// Options are what the service is made of.
type Options struct {
	Guard *admission.Guard
	Log   journal.Log
	// Room refuses so many bytes more for a tenant that would hold more than it may, unless they are on
	// record under a key already.
	Room func(ctx context.Context, ref journal.Ref, key string, more int64) error
	Now  func() time.Time
	// TenantUploads is how many imports of one tenant may arrive at the same time.
	TenantUploads int
}

// Service writes exports and reads them back.
type Service struct {
	options Options
	guard   *admission.Guard
	// imports are the places for those that are read and written.
	imports chan struct{}
}

// New makes a service.
func New(o Options) *Service {
	return &Service{options: o, guard: o.Guard, imports: make(chan struct{}, max(importsAtOnce, o.TenantUploads+1))}
}

type exportInput struct{ route.InConversation }

// Routes adds the export and the import.
func (s *Service) Routes(t *route.Table) {
	lines := func(description string) map[string]*huma.Response {
		return map[string]*huma.Response{"200": {
			Description: description,
			Content:     map[string]*huma.MediaType{linesType: {Schema: &huma.Schema{Type: huma.TypeString}}},
		}}
	}
	route.Add(t, admission.AccessRead, huma.Operation{
		OperationID: "exportConversation", Method: http.MethodGet, Path: "/v1/conversations/{conversation}/export",
		Summary: "A conversation with all its content, as JSON Lines", Tags: []string{"conversations"},
		Responses: lines("A header with the version, each entry of the journal, the kept texts that entries refer to, an end."),
	}, s.export)
	route.Add(t, admission.AccessAdmin, huma.Operation{
		OperationID: "importConversation", Method: http.MethodPost, Path: "/v1/import", DefaultStatus: http.StatusCreated,
		Summary: "Make a conversation that can only be read out of an export", Tags: []string{"conversations"},
		RequestBody: &huma.RequestBody{
			Required: true, Description: "What exportConversation gave, of up to 64 MB.",
			Content: map[string]*huma.MediaType{linesType: {Schema: &huma.Schema{Type: huma.TypeString}}},
		},
	}, s.importConversation)
}

// export reads a conversation as far as it goes now.
func (s *Service) export(ctx context.Context, in *exportInput) (*huma.StreamResponse, error) {
	ref := in.Place(ctx)
	state, err := s.options.Log.Snapshot(ctx, ref)
	if err != nil {
		return nil, err
	}
	record := audit.Record{
		Action: audit.ActionExport, Conversation: ref.Conversation, Detail: fmt.Sprintf("entries=%d", state.Conversation.Seq),
	}
	if err := s.guard.Traced(ctx, record, func() error { return nil }); err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(h huma.Context) {
		r, w := humago.Unwrap(h)
		w.Header().Set("Content-Type", linesType)
		w.Header().Set("Content-Disposition", `attachment; filename="`+exportName+`.jsonl"`)
		if err := s.writeExport(r.Context(), w, ref, state.Conversation.Seq); err != nil {
			if r.Context().Err() == nil {
				_ = s.guard.Explain(r.Context(), err) // logs it
			}
			panic(http.ErrAbortHandler) // the reader must not believe that this was all
		}
	}}, nil
}

// exporter writes the lines of one export.
type exporter struct {
	log     journal.Log
	ref     journal.Ref
	out     *bufio.Writer
	lines   *json.Encoder
	control *http.ResponseController
	// named are the texts that entries refer to, in the order in which they do.
	named []string
	seen  map[string]bool
}

// writeExport writes a conversation up to an entry.
func (s *Service) writeExport(ctx context.Context, w http.ResponseWriter, ref journal.Ref, last int64) error {
	e := &exporter{
		log: s.options.Log, ref: ref, out: bufio.NewWriterSize(w, 64<<10), control: http.NewResponseController(w),
		seen: map[string]bool{},
	}
	e.lines = json.NewEncoder(e.out)
	e.lines.SetEscapeHTML(false)
	err := e.lines.Encode(exportHeader{
		Retinue: exportName, Version: exportVersion, Conversation: ref.Conversation, At: s.options.Now().UTC(),
	})
	if err != nil {
		return err
	}
	if err := e.entries(ctx, last); err != nil {
		return err
	}
	texts, err := e.texts(ctx)
	if err != nil {
		return err
	}
	if err := e.lines.Encode(exportEnd{Entries: last, Texts: texts}); err != nil {
		return err
	}
	return e.out.Flush()
}

// entries writes all entries up to the last.
func (e *exporter) entries(ctx context.Context, last int64) error {
	for after := int64(0); after < last; {
		if err := e.control.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
			return err
		}
		entries, err := e.log.Entries(ctx, e.ref, after, int(min(last-after, exportPage)))
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return errors.New("the journal ends before its last entry")
		}
		for _, entry := range entries {
			if err := e.entry(entry); err != nil {
				return err
			}
		}
		after = entries[len(entries)-1].Seq
	}
	return nil
}

// entry writes one entry and notes the texts that it refers to.
func (e *exporter) entry(entry journal.Entry) error {
	row, err := json.Marshal(entry.Row)
	if err != nil {
		return err
	}
	for _, quoted := range quotedHash.FindAll(row, -1) {
		if hash := string(quoted[1 : len(quoted)-1]); !e.seen[hash] {
			e.seen[hash] = true
			e.named = append(e.named, hash)
		}
	}
	return e.lines.Encode(exportEntry{
		Seq: entry.Seq, Number: entry.Number, At: entry.At.UTC(), Kind: entry.Row.Kind(), Key: entry.Row.Key(), Row: row,
	})
}

// texts writes the texts that entries refer to.
func (e *exporter) texts(ctx context.Context) (count int64, err error) {
	for _, hash := range e.named {
		if err := e.control.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
			return count, err
		}
		text, err := e.log.Text(ctx, e.ref, hash)
		if chat.CodeOf(err) == chat.CodeNotFound {
			continue // it only looks like the name of a text
		}
		if err != nil {
			return count, err
		}
		count++
		if err := e.lines.Encode(exportText{Hash: hash, Text: text}); err != nil {
			return count, err
		}
	}
	return count, nil
}

// quotedHash is the name of a kept text, where a row has one.
var quotedHash = regexp.MustCompile(`"[0-9a-f]{64}"`)
