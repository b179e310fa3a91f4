//go:build services

package e2e

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// account is what the journal says of one agent.
type account struct {
	agent string
	// facts, steps and statuses are told apart: rows of several steps may be written together, and then
	// the steps come first.
	facts, steps []line
	// sides are the model calls of side turns, which run beside everything else.
	sides    []line
	statuses []string
}

// line is one row in words. Those of a class that stand together happened side by side, and are put
// in order.
type line struct {
	class, order string
	text         string
}

// dropped are fields that differ from run to run, or say the same as another row.
var dropped = map[string]bool{
	"agent": true, "brief": true, "role_hash": true, "max_iterations": true, "max_duration": true, "outcome": true,
	"prompt": true, "context_tokens": true, "hold_tokens": true, "hold_cost": true, "provider": true, "usage": true,
	"first": true, "waited": true, "duration": true, "prices": true, "worker": true, "until": true, "facts": true,
	"at": true, "hash": true, "audit": true, "tokens": true, "roles": true, "context": true, "retry_after": true, "workspace": true, "result_hash": true,
	"edited": true,
}

// normalJournal is the records, by agent, without values that differ from run to run.
func normalJournal(entries []journal.Entry, normal func(string) string) (string, error) {
	accounts := map[string]*account{}
	for _, e := range entries {
		encoded, err := journal.Encode(e.Row)
		if err != nil {
			return "", err
		}
		a := accounts[encoded.Agent]
		if a == nil {
			a = &account{agent: encoded.Agent}
			accounts[encoded.Agent] = a
		}
		if err := a.add(e.Row, encoded, normal); err != nil {
			return "", err
		}
	}
	var out strings.Builder
	for _, id := range slices.SortedFunc(maps.Keys(accounts), byDepth) {
		accounts[id].write(&out)
	}
	return out.String(), nil
}

func byDepth(a, b string) int {
	return cmp.Or(cmp.Compare(chat.AgentPath(a).Depth(), chat.AgentPath(b).Depth()), cmp.Compare(a, b))
}

func (a *account) add(row journal.Row, encoded journal.Encoded, normal func(string) string) error {
	switch r := row.(type) {
	case journal.MailPosted, journal.MailDelivered:
	case journal.StatusChanged:
		a.statuses = append(a.statuses, statusName(r))
	case journal.Stepped:
		return a.step(r, normal)
	default:
		text, err := words(encoded.Body, normal)
		if err != nil {
			return err
		}
		l := line{text: string(encoded.Kind) + " " + text}
		if encoded.Kind == journal.KindToolStarted || encoded.Kind == journal.KindToolReturned {
			l.class, l.order = "call", encoded.Key
			if encoded.Kind == journal.KindToolStarted {
				l.order = "\x00" + encoded.Key
			}
		}
		if encoded.Kind == journal.KindQuestionAnswered {
			l.class, l.order = "answer", encoded.Key
		}
		if call, ok := sideOf(row); ok {
			a.sides = append(a.sides, line{class: "side", order: call, text: l.text})
			return nil
		}
		a.facts = append(a.facts, l)
	}
	return nil
}

// statusName is the status that a task came to, with the reason of one that waits.
func statusName(r journal.StatusChanged) string {
	if r.Reason == "" {
		return string(r.Status)
	}
	return string(r.Status) + "(" + string(r.Reason) + ")"
}

// eventName is the name of the event that a step took in, empty if there is none.
func eventName(r journal.Stepped) string {
	e, err := agent.UnmarshalEvent(r.Event)
	if err != nil {
		return ""
	}
	return agent.EventName(e)
}

// sideOf is the model call of a side turn that a row is about.
func sideOf(row journal.Row) (string, bool) {
	call := ""
	switch r := row.(type) {
	case journal.ModelCalled:
		call = r.Call
	case journal.ModelReplied:
		call = r.Call
	default:
	}
	return call, strings.HasPrefix(call, "side.")
}

// step is an event of the core. When the core is woken, and which sub-agents have runs of their
// own, is the host's affair.
func (a *account) step(r journal.Stepped, normal func(string) string) error {
	var e struct {
		Name  string
		Event map[string]any
	}
	if err := json.Unmarshal(r.Event, &e); err != nil {
		return err
	}
	if e.Name == "Ticked" {
		return nil
	}
	if calls, ok := e.Event["calls"].([]any); ok {
		var names []string
		for _, c := range calls {
			if call, ok := c.(map[string]any); ok {
				names = append(names, fmt.Sprint(call["tool"]))
			}
		}
		e.Event["calls"] = strings.Join(names, " ")
	}
	if outcome, ok := e.Event["outcome"].(map[string]any); ok {
		e.Event["status"] = outcome["status"]
	}
	if edited, ok := e.Event["edited"].(map[string]any); ok {
		e.Event["with"] = edited["hash"]
	}
	delete(e.Event, "hash")
	delete(e.Event, "apart")
	body, err := json.Marshal(e.Event)
	if err != nil {
		return err
	}
	text, err := words(body, normal)
	if err != nil {
		return err
	}
	l := line{text: e.Name + " " + text, class: "step", order: source(e.Name, e.Event)}
	a.steps = append(a.steps, l)
	return nil
}

// source is where an event comes from. Events of one source come in its order; those of several are
// interleaved as it happens.
func source(name string, event map[string]any) string {
	switch name {
	case "ChildStarted", "ChildEnded", "ChildWaited":
		return fmt.Sprint("child ", event["task"])
	case "QuestionAsked", "QuestionWithdrawn":
		agent, _, _ := strings.Cut(fmt.Sprint(event["question"]), "#")
		return "child " + agent
	case "ToolDone":
		return fmt.Sprint("tool ", event["call"])
	case "Resolved", "Routed":
		return fmt.Sprint("side ", event["side"])
	case "Begun", "Replied", "ModelFailed", "Compacted":
		return ""
	}
	return "mail"
}

func (a *account) write(out *strings.Builder) {
	name := a.agent
	if name == "" {
		name = "(conversation)"
	}
	fmt.Fprintf(out, "== %s\n", name)
	for _, l := range settled(a.facts) {
		fmt.Fprintln(out, l.text)
	}
	if len(a.sides) > 0 {
		fmt.Fprintln(out, "-- side turns")
	}
	for _, l := range settled(a.sides) {
		fmt.Fprintln(out, l.text)
	}
	if len(a.statuses) > 0 {
		fmt.Fprintf(out, "-- statuses: %s\n", strings.Join(a.statuses, " "))
	}
	if len(a.steps) > 0 {
		fmt.Fprintln(out, "-- steps")
	}
	for _, l := range settled(a.steps) {
		fmt.Fprintln(out, l.text)
	}
	fmt.Fprintln(out)
}

// settled puts what happened side by side into one order.
func settled(lines []line) []line {
	out := slices.Clone(lines)
	for from := 0; from < len(out); {
		to := from + 1
		for to < len(out) && out[from].class != "" && out[to].class == out[from].class {
			to++
		}
		slices.SortStableFunc(out[from:to], func(a, b line) int { return cmp.Compare(a.order, b.order) })
		from = to
	}
	return out
}

// words is a row's JSON without the fields that differ.
func words(body []byte, normal func(string) string) (string, error) {
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		return "", err
	}
	if fields["task"] == fields["agent"] {
		delete(fields, "task")
	}
	done := commands(fields["facts"])
	for name := range dropped {
		delete(fields, name)
	}
	if done != nil {
		fields["commands"] = done
	}
	if r, ok := fields["receipt"]; ok {
		timeless(r)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(tidy(fields, normal)); err != nil {
		return "", err
	}
	return strings.TrimSpace(out.String()), nil
}

// commands are the programs that ran, of the facts of a call, without how long they took.
func commands(facts any) any {
	table, ok := facts.(map[string]any)
	if !ok {
		return nil
	}
	list, ok := table["commands"].([]any)
	if !ok {
		return nil
	}
	for _, c := range list {
		if command, ok := c.(map[string]any); ok {
			delete(command, "duration_ms")
		}
	}
	return list
}

// timeless takes out of a receipt when things happened and what they took.
func timeless(v any) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			timeless(v[i])
		}
	case map[string]any:
		for _, name := range []string{"first", "last", "at", "tokens", "duration_ms"} {
			delete(v, name)
		}
		for name := range v {
			timeless(v[name])
		}
	}
}

// tidy makes the texts of a value comparable and short.
func tidy(v any, normal func(string) string) any {
	switch v := v.(type) {
	case string:
		return brief(normal(variables.ReplaceAllString(again.ReplaceAllString(v, "~again"), `"$1":0`)))
	case []any:
		for i := range v {
			v[i] = tidy(v[i], normal)
		}
	case map[string]any:
		for name := range v {
			v[name] = tidy(v[name], normal)
		}
	}
	return v
}

// again is how a call is named that is made again because its first maker was lost.
var again = regexp.MustCompile(`~\d+\.\d+$`)

// briefBytes is how much of a text is shown in the journal; results stand whole elsewhere.
const briefBytes = 300

// brief is a text with its middle left out, and a hash that stands for it.
func brief(text string) string { return shorten(text, briefBytes) }

func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%s […%d bytes, %x…] %s", strings.ToValidUTF8(text[:most/2], ""), len(text), sum[:4],
		strings.ToValidUTF8(text[len(text)-most/4:], ""))
}
