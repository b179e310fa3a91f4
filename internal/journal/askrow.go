package journal

import (
	"encoding/json"
)

// The rows about what waits for a person.
type (
	// QuestionAsked is a question of an agent.
	QuestionAsked struct {
		In
		Question string   `json:"question"`
		Call     string   `json:"call,omitempty"`
		Text     string   `json:"text"`
		Options  []string `json:"options,omitempty"`
		// Until is when it expires, in milliseconds since 1970.
		Until int64 `json:"until,omitempty"`
	}

	// QuestionRelayed shows a question to the person.
	QuestionRelayed struct {
		In
		Question string `json:"question"`
	}

	// QuestionAnswered ends a question. By says who answered, or that nobody did; Number names the
	// person's message.
	QuestionAnswered struct {
		In
		Question string `json:"question"`
		By       string `json:"by,omitempty"`
		Text     string `json:"text,omitempty"`
		Number   int64  `json:"number,omitempty"`
		// Sources are the taint of the agent that worded the answer.
		Sources []Source `json:"sources,omitempty"`
	}

	// ApprovalRequested asks a person to approve a call.
	ApprovalRequested struct {
		In
		Call    string `json:"call"`
		Tool    string `json:"tool"`
		Hash    string `json:"hash"`
		Pattern string `json:"pattern,omitempty"`
		Until   int64  `json:"until,omitempty"`
		// Show is the call as the person sees it.
		Show json.RawMessage `json:"show,omitempty"`
		// Sources are the agent's taint, if it is the reason to ask the person despite the rules.
		Sources []Source `json:"sources,omitempty"`
	}

	// EditProposed are arguments with which a person would replace the model's, to be checked
	// before the decision. The row has no other effect. Edit is the hash of the arguments.
	EditProposed struct {
		In
		Call string `json:"call"`
		Edit string `json:"edit"`
		// Args is text, as in a tool_use: stores change how JSON of their own is written.
		Args string `json:"args"`
		By   string `json:"by"`
	}

	// ApprovalDecided is a person's decision. The first one counts.
	ApprovalDecided struct {
		In
		Call   string `json:"call"`
		Hash   string `json:"hash"`
		Allow  bool   `json:"allow,omitempty"`
		Scope  string `json:"scope,omitempty"`
		By     string `json:"by"`
		Reason string `json:"reason,omitempty"`
		// Args replace the model's arguments, if the person changed them; Edited describes the call
		// with them to the core.
		Args   string          `json:"args,omitempty"`
		Edited json.RawMessage `json:"edited,omitempty"`
		// Audit is the key of the entry on the audit trail that says so. The audited journal sets it.
		Audit string `json:"audit,omitempty"`
	}

	// ApprovalClosed ends an approval: approved, denied, expired or cancelled.
	ApprovalClosed struct {
		In
		Call   string `json:"call"`
		Status string `json:"status"`
		Scope  string `json:"scope,omitempty"`
		By     string `json:"by,omitempty"`
	}

	// Granted approves a call's pattern for the whole conversation. Its key is made of tool and
	// pattern, so that it can be found.
	Granted struct {
		In
		Call    string `json:"call"`
		Tool    string `json:"tool"`
		Pattern string `json:"pattern,omitempty"`
	}
)
