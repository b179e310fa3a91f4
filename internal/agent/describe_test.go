package agent_test

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
)

// describe prints what a reader of a script wants to know of a state, in one line.
func describe(s agent.State) string {
	out := []string{string(s.Phase)}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if m := s.Model; m != nil {
		add("model %d.%d", m.Turn, m.Attempt)
		if m.RetryAt != 0 {
			add("retry @%d", m.RetryAt)
		}
	}
	if s.Round != nil {
		var calls []string
		for _, c := range s.Round.Calls {
			calls = append(calls, c.ID+":"+string(c.Status))
		}
		add("calls [%s]", strings.Join(calls, " "))
	}
	if len(s.Children) > 0 {
		var kids []string
		for _, c := range s.Children {
			kid := c.ID + ":" + string(c.State)
			if c.Waiting != "" {
				kid += "(" + string(c.Waiting) + ")"
			}
			if c.Stop != "" {
				kid += "(stopping)"
			}
			kids = append(kids, kid)
		}
		add("children [%s]", strings.Join(kids, " "))
	}
	describePending(s, add)
	if len(s.Taint) > 0 {
		add("tainted %v", s.Taint)
	}
	for _, l := range []struct {
		name string
		agent.Lease
	}{{"tokens", s.Tokens}, {"cost", s.Cost}, {"agents", s.Agents}} {
		if l.Grant != 0 && l.Held+l.Spent != 0 {
			add("%s %d+%d/%d", l.name, l.Held, l.Spent, l.Grant)
		}
	}
	if status, reason := s.Status(); reason != "" {
		add("%s(%s)", status, reason)
	}
	if s.Stop != nil {
		add("because %s", s.Stop.Kind)
	}
	if s.Wake != 0 {
		add("wake @%d", s.Wake)
	}
	if s.Outcome != nil {
		add("%s", s.Outcome.Status)
	}
	return strings.Join(out, " | ")
}

// describePending prints an orchestrator's pending items: messages, notices, questions, side turns.
func describePending(s agent.State, add func(string, ...any)) {
	for _, l := range s.Inbox.Queue {
		add("unread %d %s", l.Seq, l.State)
	}
	for _, n := range s.Notices {
		add("notice %s", n.Task)
	}
	for _, q := range s.Questions {
		if q.Relayed {
			add("question %s relayed", q.ID)
		} else {
			add("question %s", q.ID)
		}
	}
	for _, d := range s.Sides {
		add("side %d %s", d.ID, d.Kind)
	}
}

// describeEffect prints who carries an effect out, its name, and its fields that are set.
func describeEffect(e agent.Effect) string {
	who := "engine"
	if e.Record() {
		who = "record"
	} else if e.Local() {
		who = "local "
	}
	v := reflect.ValueOf(e)
	return who + " " + v.Type().Name() + describeFields(v)
}

func describeFields(v reflect.Value) string {
	var out strings.Builder
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || v.Field(i).IsZero() {
			continue
		}
		name := strings.Split(f.Tag.Get("json"), ",")[0]
		switch value := v.Field(i).Interface().(type) {
		case agent.Brief:
			out.WriteString(" " + describeBrief(value))
		case agent.Outcome:
			out.WriteString(" outcome {" + strings.TrimPrefix(describeFields(v.Field(i)), " ") + "}")
		case string:
			if strings.Contains(value, " ") {
				value = fmt.Sprintf("%q", value)
			}
			fmt.Fprintf(&out, " %s=%s", name, value)
		default:
			fmt.Fprintf(&out, " %s=%v", name, value)
		}
	}
	return out.String()
}

func describeBrief(b agent.Brief) string {
	out := fmt.Sprintf("%s role=%s depth=%d tools=%s", b.Task, b.Role, b.Depth, strings.Join(b.Tools, ","))
	if b.Agent != b.Task {
		out += " agent=" + b.Agent
	}
	if b.Authority.Write {
		out += " write"
	}
	if b.Authority.Network {
		out += " network"
	}
	if len(b.Taint) > 0 {
		out += fmt.Sprintf(" taint=%v", b.Taint)
	}
	l := b.Limits
	return out + fmt.Sprintf(" agents=%d iterations=%d time=%d tokens=%d cost=%d",
		l.Agents, l.Iterations, l.Time, l.Tokens, l.Cost)
}
