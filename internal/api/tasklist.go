package api

import (
	"context"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

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
	taskLinesOutput struct{ Body wire.TaskLines }
)

func (s *Server) allTasks(ctx context.Context, in *taskLinesInput) (*taskLinesOutput, error) {
	list, err := s.options.Log.Tasks(ctx, admission.CallerOf(ctx).Tenant, journal.TaskQuery{
		Conversation: in.Conversation, Status: chat.Status(in.Status), Role: in.Role, By: in.By, MinCost: in.MinCost,
		Limit: in.Limit, Cursor: in.Cursor,
	})
	if err != nil {
		return nil, err
	}
	out := wire.TaskLines{Items: route.Each(list, taskLineOf)}
	if len(list) == in.Limit {
		out.Cursor = list[len(list)-1].Cursor()
	}
	return &taskLinesOutput{Body: out}, nil
}

func taskLineOf(l journal.TaskLine) wire.TaskLine {
	out := wire.TaskLine{Task: events.Task(l.Task), Conversation: l.Conversation, Talk: l.Title, By: l.By, Role: l.Role, Cost: l.Cost}
	events.LearnTask(&out.Task, l.Begun)
	if l.Status.Terminal() {
		events.LearnTask(&out.Task, l.Ended)
	}
	return out
}
