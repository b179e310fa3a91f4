package journal

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
)

// TestEveryRowIsListed compares the types that have a Kind method with the list and the decoders.
func TestEveryRowIsListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "kind.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || f.Name.Name != "Kind" {
			continue
		}
		if name, ok := f.Recv.List[0].Type.(*ast.Ident); ok {
			declared[name.Name] = true
		}
	}
	seen := map[Kind]bool{}
	for _, row := range Kinds() {
		e := Encoded{Kind: row.Kind(), Body: []byte(`{}`)}
		back, err := Decode(e.Kind, e.Body)
		if err != nil || back.Kind() != row.Kind() || seen[e.Kind] {
			t.Errorf("kind %s: decoded %v, %v, seen before is %t", e.Kind, back, err, seen[e.Kind])
		}
		seen[e.Kind] = true
	}
	if len(seen) != len(declared) || len(decoders) != len(declared) {
		t.Errorf("%d types of rows, %d listed, %d decoders", len(declared), len(seen), len(decoders))
	}
	if _, err := Decode("no such kind", nil); err == nil {
		t.Error("an unknown kind was decoded")
	}
	if _, err := Decode(KindMessageReceived, []byte(`{"parts":7}`)); err == nil {
		t.Error("a malformed body was decoded")
	}
}

// TestKeysTellFactsApart gives facts that differ in one id each other keys.
func TestKeysTellFactsApart(t *testing.T) {
	in := func(agent string) In { return In{Agent: agent, Task: agent} }
	keys := map[string]Row{}
	for _, row := range []Row{
		StatusChanged{In: in("a"), Serial: 11},
		StatusChanged{In: in("a1"), Serial: 1},
		StatusChanged{In: in("a/1"), Serial: 1},
		ToolStarted{In: in("a"), Call: "1.0", Attempt: 1},
		ToolStarted{In: in("a"), Call: "1.0", Attempt: 2},
		ToolReturned{In: in("a"), Call: "1.0"},
		ToolReturned{In: in("a/1"), Call: "1.0"},
		ModelCalled{In: in("a"), Call: "1.1"},
		ModelReplied{In: in("a"), Call: "1.1"},
		ReplyVoided{In: in("a"), Turn: 1},
		ReplyVoided{In: in("a"), Turn: 11},
		MessageReceived{ID: "1"},
		Shared{By: "ann"},
		Titled{ID: "1"},
		MailPosted{ID: "1"},
		MailDelivered{ID: "1"},
		QuestionAsked{Question: "q"},
		QuestionRelayed{Question: "q"},
		QuestionAnswered{Question: "q"},
		ApprovalRequested{In: in("a"), Call: "1.0"},
		EditProposed{In: in("a"), Call: "1.0", Edit: "e"},
		EditProposed{In: in("a"), Call: "1.0", Edit: "f"},
		ApprovalDecided{In: in("a"), Call: "1.0"},
		ApprovalClosed{In: in("a"), Call: "1.0"},
		Granted{In: in("a"), Call: "1.0"},
		MessageAdded{In: in("a"), Message: chat.Message{ID: "t1"}},
	} {
		if other, ok := keys[row.Key()]; ok {
			t.Errorf("%#v and %#v have the key %q", row, other, row.Key())
		}
		keys[row.Key()] = row
	}
}

func TestEncodeWritesWhatEveryStoreTakes(t *testing.T) {
	raw := json.RawMessage(`{"a\u0000":["\ud800",1.50,12345678901234567890]}`)
	e, err := Encode(TaskEnded{In: In{Agent: "a", Task: "a"}, Summary: "nul \x00 and \xff", Result: raw})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`\u0000`, `\ud800`, "\x00"} {
		if strings.Contains(string(e.Body), bad) {
			t.Errorf("the body has %q: %s", bad, e.Body)
		}
	}
	if !strings.Contains(string(e.Body), "12345678901234567890") {
		t.Errorf("a number lost digits: %s", e.Body)
	}
	refused := []Row{
		StatusChanged{},
		StatusChanged{In: In{Agent: "a"}},
		MessageReceived{ID: strings.Repeat("x", 600)},
		MessageReceived{ID: "a\x00"},
		StatusChanged{In: In{Agent: "a#", Task: "a"}},
		TaskEnded{In: In{Agent: "a", Task: "a"}, Result: json.RawMessage("{")},
		TaskAssigned{In: In{Agent: "a/1", Task: "a/1"}},
		TaskAssigned{In: In{Agent: "a", Task: "a"}, Depth: 1, Parent: "b"},
		MessageAdded{In: In{Agent: "a", Task: "a"}, Turn: 2, Message: chat.Message{Parts: []chat.Part{
			{Kind: chat.PartToolUse, Call: "1.0"},
		}}},
	}
	for _, row := range refused {
		if _, err := Encode(row); chat.CodeOf(err) != chat.CodeInvalid {
			t.Errorf("%#v: error is %v, want a refusal", row, err)
		}
	}
}

func TestSplit(t *testing.T) {
	long := strings.Repeat("x", 101)
	got := strings.Join(Split("The quick-brown FOX, the fox2; "+long+" été"), " ")
	if want := "brown fox fox2 quick the été"; got != want {
		t.Errorf("words are %q, want %q", got, want)
	}
	if n := len(Split(strings.Repeat("abcdefghi ", 50_000))); n != 1 {
		t.Errorf("%d words, want 1", n)
	}
}
