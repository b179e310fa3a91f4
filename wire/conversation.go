package wire

import "time"

// Snapshot is the state of a conversation after event seq.
type Snapshot struct {
	Conversation Conversation `json:"conversation"`
	Agents       []Agent      `json:"agents"`
	Tasks        []Task       `json:"tasks"`
	Questions    []Question   `json:"questions" doc:"Those that are open have their text."`
	Approvals    []Approval   `json:"approvals" doc:"Those that are open have what the person is shown."`
	Messages     []Message    `json:"messages" doc:"The last that people and the orchestrator said."`
	Notes        []Note       `json:"notes" doc:"What people were told between these messages, the last of it."`
	Turns        []EndedTurn  `json:"turns" doc:"The ends of the orchestrator's turns between these messages, the last of them."`
	Used         Usage        `json:"used"`
	HeldTokens   int64        `json:"held_tokens" doc:"Reserved by calls that are under way or whose end nobody knows."`
	HeldCost     int64        `json:"held_micro_usd"`
	MaxCost      int64        `json:"max_cost_micro_usd,omitempty" doc:"The most that the conversation may cost; absent if nobody set a limit."`
}

// NewConversation is a conversation to be begun. All of it may be empty.
type NewConversation struct {
	Title       string `json:"title,omitempty" maxLength:"200"`
	Workspace   string `json:"workspace,omitempty" maxLength:"1024" doc:"Where the files are. Empty for a talk without files."`
	Role        string `json:"role,omitempty" maxLength:"64" doc:"Who talks to you; empty means main."`
	Model       string `json:"model,omitempty" maxLength:"200" doc:"Replaces the role's model."`
	Headless    bool   `json:"headless,omitempty" doc:"No person takes part: questions are declined and calls that need an approval are denied."`
	MaxCost     int64  `json:"max_cost_micro_usd,omitempty" minimum:"0" doc:"The most that the conversation may cost."`
	MaxDuration int64  `json:"max_duration_ms,omitempty" minimum:"0" maximum:"31536000000" doc:"The most that a turn may take, in milliseconds; waiting for a person does not count."`
	Message     string `json:"message,omitempty" maxLength:"200000" doc:"The first message."`
	// Visibility is for the whole conversation.
	Visibility Visibility `json:"visibility,omitempty" enum:"tenant,private" default:"tenant" doc:"Who may see it: everybody in the tenant, or only you until you share it."`
}

// Stop names the target of a stop.
type Stop struct {
	Task string `json:"task,omitempty" maxLength:"512" doc:"The task to stop, with all below it. Empty means everything."`
}

// Accepted says that a command is recorded and will be carried out.
type Accepted struct {
	ID string `json:"id" doc:"Names the command. The same key gives the same id."`
}

// ListedConversation is a conversation in a list.
type ListedConversation struct {
	Conversation
	Running int    `json:"running" doc:"How many of its tasks are under way and wait for nobody."`
	Last    string `json:"last,omitempty" enum:"completed,failed,cancelled,timed_out" doc:"How the orchestrator's last turn ended."`
}

// Conversations is a page of the list of conversations, the one last written to first.
type Conversations struct {
	Items  []ListedConversation `json:"items"`
	Cursor string               `json:"cursor,omitempty" doc:"Asks for the next page; absent on the last."`
}

// Hit is a message that a search found.
type Hit struct {
	Conversation string    `json:"conversation"`
	Seq          int64     `json:"seq"`
	At           time.Time `json:"at"`
	Agent        string    `json:"agent"`
	Speaker      string    `json:"speaker"`
	Text         string    `json:"text"`
}

// Note is a line for people, between the messages of a chat.
type Note struct {
	Seq   int64     `json:"seq"`
	At    time.Time `json:"at"`
	Agent string    `json:"agent"`
	Task  string    `json:"task"`
	Noted
}

// EndedTurn is the end of a turn of the orchestrator.
type EndedTurn struct {
	Seq   int64     `json:"seq"`
	At    time.Time `json:"at"`
	Agent string    `json:"agent"`
	Task  string    `json:"task"`
	TurnEnd
}

// Visibility is who may see a conversation.
type Visibility string

// The visibilities. A private conversation is visible to the person who began it. For everybody
// else in the tenant, its owners among them, it does not exist.
const (
	VisibleToTenant Visibility = "tenant"
	VisiblePrivate  Visibility = "private"
)

// Conversation is one line of the list of conversations.
type Conversation struct {
	ID        string `json:"id"`
	By        string `json:"by" doc:"Who began it."`
	Title     string `json:"title"`
	Workspace string `json:"workspace"`
	Archived  bool   `json:"archived"`
	// Visibility says who may see it.
	Visibility Visibility `json:"visibility" enum:"tenant,private" doc:"Who may see it: everybody in the tenant, or only who began it."`
	OpenedAt   time.Time  `json:"opened_at"`
	UpdatedAt  time.Time  `json:"updated_at"`
	Seq        int64      `json:"seq" doc:"The last event. A stream that begins after it misses nothing."`
	Number     int64      `json:"number" doc:"How many messages people have posted."`
}
