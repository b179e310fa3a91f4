package mcptask

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/wire"
)

// taskState is what a client is told of a task.
type taskState struct {
	Conversation string `json:"conversation"`
	// Status is running, waiting, or how it ended.
	Status  string `json:"status"`
	Result  string `json:"result,omitempty"`
	Kind    string `json:"error_kind,omitempty"`
	Message string `json:"message,omitempty"`
	// Seq is what to follow after; More means that there is more already.
	Seq     int64            `json:"seq"`
	More    bool             `json:"more,omitempty"`
	Events  []progress.Event `json:"events"`
	Waiting []waitingTask    `json:"waiting,omitempty"`
	Usage   progress.Usage   `json:"usage"`
}

// waitingTask is something that waits for an answer or a decision.
type waitingTask struct {
	Kind     string          `json:"kind"`
	Question string          `json:"question,omitempty"`
	Agent    string          `json:"agent_path"`
	Role     string          `json:"role"`
	Text     string          `json:"text,omitempty"`
	Options  []string        `json:"options,omitempty"`
	Tool     string          `json:"tool,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"`
	How      string          `json:"how"`
}

const (
	// taskEvents is how many events are told at once, and eventText how much of each text.
	taskEvents = 100
	eventText  = 2000
	// taskTick is the time between two looks whether a task has ended by the clock.
	taskTick = 250 * time.Millisecond
)

// told is an answer to a client: what there is to say as JSON, or why there is nothing.
func told(what any, err error) (*mcp.CallToolResult, any, error) {
	if err != nil {
		return nil, nil, err
	}
	text, plain := what.(string)
	if !plain {
		data, err := json.MarshalIndent(what, "", " ")
		if err != nil {
			return nil, nil, err
		}
		text = string(data)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

// follow waits until a task has ended, wants something, or the time is over.
func (d *Backend) follow(
	ctx context.Context, r *mcp.CallToolRequest, conversation string, after int64, wait time.Duration,
) (any, error) {
	if err := d.ours(ctx, conversation); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &taskFollower{
		tree: progress.New(conversation, ""), after: after, request: r,
		state: taskState{Conversation: conversation, Seq: after, Events: []progress.Event{}},
	}
	read := int64(0)
	err := d.Server.Recall(ctx, conversation, read, func(page wire.History) bool {
		read = page.Seq
		f.apply(ctx, page.Events, page.Seq)
		return true
	})
	if err != nil {
		return nil, d.Server.Explain(err)
	}
	updates := d.Server.News(ctx, conversation, read)
	over, tick := time.NewTimer(wait), time.NewTicker(taskTick)
	defer over.Stop()
	defer tick.Stop()
	timeUp := false
	var trouble error
	for {
		if _, ended := f.tree.Ended(time.Now()); ended || f.wanted || timeUp {
			return d.report(ctx, f)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case u, ok := <-updates:
			if !ok {
				return nil, cmp.Or(ctx.Err(), trouble)
			}
			trouble = u.Err
			f.apply(ctx, u.Events, u.Seq)
		case <-over.C:
			timeUp = true
		case <-tick.C:
		}
	}
}

// taskFollower reads a task from its beginning.
type taskFollower struct {
	tree    *progress.Tree
	state   taskState
	after   int64
	wanted  bool
	request *mcp.CallToolRequest
}

// apply takes events, and the last entry that they cover.
func (f *taskFollower) apply(ctx context.Context, events []wire.Event, seq int64) {
	for _, happened := range events {
		for _, event := range f.tree.Apply(happened) {
			if event.Seq <= f.after {
				continue
			}
			f.wanted = f.wanted || event.Type == wire.QuestionRelayed || event.Type == wire.ApprovalRequested
			f.tell(ctx, event)
		}
		if !f.state.More && happened.Seq > f.after {
			f.state.Seq = happened.Seq
		}
	}
	if !f.state.More && seq > f.after {
		f.state.Seq = seq
	}
}

// tell adds an event, unless the answer is full: then it is told the next time, with its entry.
func (f *taskFollower) tell(ctx context.Context, event progress.Event) {
	list := f.state.Events
	if f.state.More || len(list) >= taskEvents && list[len(list)-1].Seq != event.Seq {
		f.state.More = true
		return
	}
	event.Text, event.Message = progress.Short(event.Text, eventText), progress.Short(event.Message, eventText)
	if len(event.Args) > eventText {
		event.Args = nil
	}
	f.state.Events = append(list, event)
	if token := f.request.Params.GetProgressToken(); token != nil {
		// A client that does not hear of it reads it in the answer.
		_ = f.request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: float64(event.Seq), Message: string(event.Type) + " " + event.Role,
		})
	}
}

// report is how the task stands, with what waits and who may decide it.
func (d *Backend) report(ctx context.Context, f *taskFollower) (taskState, error) {
	f.state.Usage, f.state.Status = f.tree.Spent(), "running"
	if end, ended := f.tree.Ended(time.Now()); ended {
		f.state.Status, f.state.Result = string(end.Status), end.Answer
		f.state.Kind, f.state.Message = string(end.Kind), end.Message
		return f.state, nil
	}
	pending := f.tree.Pending()
	if len(pending) == 0 {
		return f.state, nil
	}
	f.state.Status = "waiting"
	items, err := d.Server.Waits(ctx)
	if err != nil {
		return f.state, err
	}
	for _, p := range pending {
		w := waitingTask{Kind: "question", Question: p.Question, Agent: p.Agent, Role: p.Role, Text: p.Text, Options: p.Options}
		w.How = "call answer with this question and a text, or let a person run: retinue inbox answer"
		if p.Question == "" {
			w.Kind, w.Text, w.Tool, w.How = "approval", "", p.Tool, "a person decides: retinue inbox"
			if json.Valid([]byte(p.Text)) {
				w.Args = json.RawMessage(p.Text)
			}
		}
		for _, item := range items {
			if p.Question == "" && item.Conversation == f.state.Conversation && item.Agent == p.Agent && item.Call == p.Call {
				w.How = "a person decides: retinue inbox allow " + item.ID + ", or retinue inbox deny " + item.ID
			}
		}
		f.state.Waiting = append(f.state.Waiting, w)
	}
	return f.state, nil
}
