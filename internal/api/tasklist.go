package api

import (
	"context"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// TaskLine is a task in a list across conversations.
type TaskLine struct {
	Task
	Conversation string `json:"conversation"`
	Talk         string `json:"conversation_title"`
	By           string `json:"by" doc:"Who began the conversation."`
	Role         string `json:"role"`
	Cost         int64  `json:"cost_micro_usd" doc:"What its own model calls cost."`
}

// TaskLines is a page of the list of all tasks, the newest first.
type TaskLines struct {
	Items  []TaskLine `json:"items"`
	Cursor string     `json:"cursor,omitempty" doc:"Asks for the next page; absent on the last."`
}

type (
	taskLinesInput struct {
		Status       string `query:"status" enum:"queued,pending,running,waiting,completed,failed,cancelled,timed_out"`
		Role         string `query:"role" maxLength:"64"`
		By           string `query:"by" maxLength:"320" doc:"Who began the conversation."`
		Conversation string `query:"conversation" maxLength:"128"`
		MinCost      int64  `query:"min_cost_micro_usd" minimum:"0" doc:"The least that its own model calls cost."`
		Limit        int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
		Cursor       string `query:"cursor" maxLength:"768" doc:"From the page before."`
	}
	taskLinesOutput struct{ Body TaskLines }
)

func (s *Server) allTasks(ctx context.Context, in *taskLinesInput) (*taskLinesOutput, error) {
	list, err := s.options.Log.Tasks(ctx, callerOf(ctx).Tenant, journal.TaskQuery{
		Conversation: in.Conversation, Status: chat.Status(in.Status), Role: in.Role, By: in.By, MinCost: in.MinCost,
		Limit: in.Limit, Cursor: in.Cursor,
	})
	if err != nil {
		return nil, err
	}
	out := TaskLines{Items: each(list, taskLineOf)}
	if len(list) == in.Limit {
		out.Cursor = list[len(list)-1].Cursor()
	}
	return &taskLinesOutput{Body: out}, nil
}

func taskLineOf(l journal.TaskLine) TaskLine {
	out := TaskLine{Task: taskOf(l.Task), Conversation: l.Conversation, Talk: l.Title, By: l.By, Role: l.Role, Cost: l.Cost}
	out.learn(l.Begun)
	if l.Status.Terminal() {
		out.learn(l.Ended)
	}
	return out
}
