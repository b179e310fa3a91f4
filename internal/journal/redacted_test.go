package journal_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/secret"
)

const canary = "open-sesame"

// TestRedacted writes a value into every text of every kind of row. The row that is written has
// none of it, or was refused because its key was made of it.
func TestRedacted(t *testing.T) {
	vault := &secret.Vault{}
	vault.Add("WORD", canary)
	for _, empty := range journal.Kinds() {
		of := reflect.TypeOf(empty)
		for i := range of.NumField() {
			row := reflect.New(of).Elem()
			if !plant(row.Field(i)) {
				continue
			}
			log := &written{Log: journaltest.NewMemory()}
			planted, _ := row.Interface().(journal.Row)
			_, err := journal.NewRedacted(log, vault).Append(t.Context(), journal.Ref{}, time.Time{}, planted)
			switch {
			case err != nil && planted.Key() != empty.Key() && chat.CodeOf(err) == chat.CodeInvalid:
			case err != nil:
				t.Errorf("%s.%s: %v", of.Name(), of.Field(i).Name, err)
			default:
				body, err := json.Marshal(log.rows[0])
				if err != nil || strings.Contains(string(body), canary) || !strings.Contains(string(body), "[secret:WORD]") {
					t.Errorf("%s.%s was written as %s: %v", of.Name(), of.Field(i).Name, body, err)
				}
			}
		}
	}
}

// plant puts the value into a field, and reports whether that holds text.
func plant(field reflect.Value) bool {
	switch field.Kind() { //nolint:exhaustive // the others hold no text
	case reflect.String:
		field.SetString("is " + canary)
	case reflect.Slice:
		if field.Type().Elem().Kind() == reflect.Uint8 {
			field.SetBytes([]byte(`{"a":["` + canary + `",1.50]}`))
			return true
		}
		field.Set(reflect.MakeSlice(field.Type(), 2, 2))
		return plant(field.Index(1))
	case reflect.Struct:
		found := false
		for i := range field.NumField() {
			if field.Field(i).CanSet() && plant(field.Field(i)) {
				found = true
			}
		}
		return found
	default:
		return false
	}
	return true
}

func TestRedactedLeavesTheRestAlone(t *testing.T) {
	vault := &secret.Vault{}
	vault.Add("WORD", canary)
	log := &written{Log: journaltest.NewMemory()}
	in := journal.In{Agent: "main", Task: "main"}
	rows := []journal.Row{
		journal.MessageAdded{In: in, Turn: 1, Message: chat.Message{ID: "t1", Speaker: chat.Assistant, Parts: []chat.Part{
			{Kind: chat.PartToolUse, Call: "1.0", Tool: "shell", Args: `{"command":"echo open-sesame","n":1.50}`},
		}}},
		journal.Stepped{In: in, N: 3, Event: json.RawMessage(`{"b":1,"a":2}`)},
	}
	if _, err := journal.NewRedacted(log, vault).Append(t.Context(), journal.Ref{}, time.Time{}, rows...); err != nil {
		t.Fatal(err)
	}
	want := []journal.Row{
		journal.MessageAdded{In: in, Turn: 1, Message: chat.Message{ID: "t1", Speaker: chat.Assistant, Parts: []chat.Part{
			{Kind: chat.PartToolUse, Call: "1.0", Tool: "shell", Args: `{"command":"echo [secret:WORD]","n":1.50}`},
		}}},
		rows[1],
	}
	if diff := cmp.Diff(want, log.rows, cmp.AllowUnexported(journal.MessageAdded{})); diff != "" {
		t.Error(diff)
	}
}

func TestRedactedKeepsNoSecret(t *testing.T) {
	vault := &secret.Vault{}
	vault.Add("WORD", canary)
	log := journal.NewRedacted(journaltest.NewMemory(), vault)
	if err := log.Keep(t.Context(), journal.Ref{Tenant: "a", Conversation: "c"}, "a prompt", "a prompt with "+canary); chat.CodeOf(err) != chat.CodeInvalid {
		t.Errorf("a text with a secret was kept: %v", err)
	}
	if err := log.Keep(t.Context(), journal.Ref{Tenant: "a", Conversation: "c"}, "a prompt"); err != nil {
		t.Error(err)
	}
	if text, err := log.Text(t.Context(), journal.Ref{Tenant: "a", Conversation: "c"}, journal.HashOf("a prompt")); err != nil || text != "a prompt" {
		t.Errorf("%q was kept: %v", text, err)
	}
}

// written notes the rows that reach a log.
type written struct {
	journal.Log
	rows []journal.Row
}

func (w *written) Append(_ context.Context, _ journal.Ref, _ time.Time, rows ...journal.Row) ([]journal.Written, error) {
	w.rows = append(w.rows, rows...)
	return make([]journal.Written, len(rows)), nil
}
