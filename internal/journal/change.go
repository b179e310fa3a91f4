package journal

// Change is one statement of a store: a line that a table gains, loses or has changed. Changes says
// which rows lead to it. A store has one query for each type, and the query takes the fields of the
// type in their order, so that the compiler refuses a store that leaves one out. Times are in
// milliseconds since 1970.
//
//sumtype:decl
type Change interface{ change() }

// The changes of a conversation's own line.
type (
	// ConversationOpened fills the line that an append has made for a new conversation.
	ConversationOpened struct {
		OpenedBy, Title, Workspace string
		At                         int64
		PrivateTo                  string
		Tenant, Conversation       string
	}

	// ConversationShared has everybody in the tenant see a conversation.
	ConversationShared struct{ Tenant, Conversation string }

	// ConversationTitled names a conversation.
	ConversationTitled struct{ Title, Tenant, Conversation string }

	// ConversationArchived takes a conversation off the list.
	ConversationArchived struct{ Tenant, Conversation string }

	// MailAdded is a line of the mailbox.
	MailAdded struct {
		Tenant, Conversation string
		Post, Agent          string
		Seq                  int64
		Topic                string
		At                   int64
	}

	// MailRemoved deletes a line of the mailbox, if it exists.
	MailRemoved struct{ Tenant, Conversation, Post string }
)

// The changes of agents and tasks.
type (
	// AgentAdded is an agent's line. If the agent exists, its latest task changes.
	AgentAdded struct {
		Tenant, Conversation string
		Agent                string
		Seq                  int64
		Parent               string
		Depth                int64
		Role, RoleHash, Task string
	}

	// TaskAdded is a task's line; its status is pending.
	TaskAdded struct {
		Tenant, Conversation string
		Task, Agent          string
		Seq                  int64
		Parent, Call         string
		Item, TriggerNumber  int64
		Background           bool
		At                   int64
	}

	// TaskMoved changes the status of a task that has not ended. The first move to running says when it
	// began.
	TaskMoved struct {
		Status, Reason       string
		At                   int64
		Tenant, Conversation string
		Task                 string
	}

	// TaskFinished ends a task.
	TaskFinished struct {
		Status, ErrorKind    string
		At                   int64
		Tenant, Conversation string
		Task                 string
	}

	// UsageAdded adds to an agent's usage.
	UsageAdded struct {
		Input, Output, CacheRead, CacheWrite, Reasoning, Cost, Unpriced int64
		Tenant, Conversation, Agent                                     string
	}
)

// The changes of transcripts and calls.
type (
	// MessageListed is a message's line. Its content is read from the list. Words are those that a
	// search finds it by.
	MessageListed struct {
		Seq            int64
		Agent          string
		Turn           int64
		Speaker        string
		InChat, Voided bool
		At             int64
		Words          []string
	}

	// ReplyTaken takes the reply of a turn out of its transcript, and with it the calls that it opened.
	ReplyTaken struct {
		Tenant, Conversation, Agent string
		Turn                        int64
	}

	// CallAdded is a tool call's line. An existing call stays as it is.
	CallAdded struct {
		Tenant, Conversation, Agent string
		Turn, Item                  int64
		Call, Task                  string
		Seq                         int64
		Tool                        string
		Voided                      bool
	}

	// CallStarted says that an attempt at a call began.
	CallStarted struct {
		Attempt, At                 int64
		Tenant, Conversation, Agent string
		Turn, Item                  int64
	}

	// CallFinished is the result of a call.
	CallFinished struct {
		Result                      string
		At, Duration                int64
		Tenant, Conversation, Agent string
		Turn, Item                  int64
	}

	// CallHeld says that a call waits for an approval.
	CallHeld struct {
		Tenant, Conversation, Agent string
		Turn, Item                  int64
	}

	// CallReleased says that it no longer does.
	CallReleased struct {
		Tenant, Conversation, Agent string
		Turn, Item                  int64
	}

	// ModelCallAdded is a model call's line; its status is running.
	ModelCallAdded struct {
		Tenant, Conversation string
		Task, Call, Agent    string
		Seq                  int64
		RequestType          string
		Turn, Attempt        int64
		Model, Prompt        string
		At                   int64
	}

	// ModelCallFinished is the end of the model call at Seq. An empty model leaves the one that was
	// asked.
	ModelCallFinished struct {
		Status, ErrorKind, Model                                        string
		Input, Output, CacheRead, CacheWrite, Reasoning, Cost, Unpriced int64
		At, FinishedSeq                                                 int64
		Tenant, Conversation, Agent                                     string
		Seq                                                             int64
	}
)

// The changes of reservations.
type (
	// LeaseHeld takes a lease. If the lease exists, its holder changes.
	LeaseHeld struct {
		Tenant, Conversation string
		Key                  string
		Seq                  int64
		Agent, Task, Holder  string
		Tokens, Cost         int64
	}

	// LeaseSettled settles a lease, if there is one.
	LeaseSettled struct{ Tenant, Conversation, Key string }

	// MonthSettled changes a tenant's spending in a month.
	MonthSettled struct {
		Change        int64
		Tenant, Month string
	}
)

// The changes of what waits for a person.
type (
	// QuestionAdded is a question's line.
	QuestionAdded struct {
		Tenant, Conversation string
		Question             string
		Seq                  int64
		Agent, Task, Call    string
		At, Until            int64
	}

	// QuestionShown says that a question was relayed to the person.
	QuestionShown struct{ Tenant, Conversation, Question string }

	// QuestionClosed ends a question.
	QuestionClosed struct{ AnsweredBy, Tenant, Conversation, Question string }

	// ApprovalAdded is an approval's line; its status is open.
	ApprovalAdded struct {
		Tenant, Conversation string
		Agent, Call          string
		Seq                  int64
		Task, Tool, Hash     string
		At, Until            int64
	}

	// ApprovalAnswered is a person's decision on an approval that is open.
	ApprovalAnswered struct {
		Allow                             bool
		Scope, DecidedBy                  string
		Edited                            bool
		Tenant, Conversation, Agent, Call string
	}

	// ApprovalEnded ends an approval. An empty scope or person leaves that of the decision.
	ApprovalEnded struct{ Status, Scope, DecidedBy, Tenant, Conversation, Agent, Call string }

	// GrantAdded is a pattern that was approved for the whole conversation.
	GrantAdded struct {
		Tenant, Conversation string
		Seq                  int64
		Tool, Pattern        string
	}
)

func (ConversationOpened) change()   {}
func (ConversationShared) change()   {}
func (ConversationTitled) change()   {}
func (ConversationArchived) change() {}
func (MailAdded) change()            {}
func (MailRemoved) change()          {}
func (AgentAdded) change()           {}
func (TaskAdded) change()            {}
func (TaskMoved) change()            {}
func (TaskFinished) change()         {}
func (UsageAdded) change()           {}
func (MessageListed) change()        {}
func (ReplyTaken) change()           {}
func (CallAdded) change()            {}
func (CallStarted) change()          {}
func (CallFinished) change()         {}
func (CallHeld) change()             {}
func (CallReleased) change()         {}
func (ModelCallAdded) change()       {}
func (ModelCallFinished) change()    {}
func (LeaseHeld) change()            {}
func (LeaseSettled) change()         {}
func (MonthSettled) change()         {}
func (QuestionAdded) change()        {}
func (QuestionShown) change()        {}
func (QuestionClosed) change()       {}
func (ApprovalAdded) change()        {}
func (ApprovalAnswered) change()     {}
func (ApprovalEnded) change()        {}
func (GrantAdded) change()           {}
