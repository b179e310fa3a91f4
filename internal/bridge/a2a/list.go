package a2a

import (
	"context"
	"errors"
	"math"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/bridge"
)

// pageSize is how many tasks a list holds when nothing is said.
const pageSize = 50

// ListTasks implements a2asrv.RequestHandler. It lists the tasks of one context, the last first.
func (w wire) ListTasks(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	if req.ContextID == "" || req.PageToken != "" {
		return nil, a2a.NewError(a2a.ErrInvalidParams, "tasks are listed for one contextId, without pages")
	}
	size := req.PageSize
	if size <= 0 || size > pageSize {
		size = pageSize
	}
	names, err := w.Names(ctx, req.ContextID, size)
	if err != nil {
		return nil, w.fault(ctx, err)
	}
	out := &a2a.ListTasksResponse{Tasks: []*a2a.Task{}, PageSize: size}
	for _, name := range names {
		x, err := w.Find(ctx, name)
		if err != nil {
			return nil, w.fault(ctx, err)
		}
		r, err := x.Look(ctx)
		if err != nil {
			return nil, w.fault(ctx, err)
		}
		t := taskOf(x, r, req.HistoryLength)
		if !req.IncludeArtifacts {
			t.Artifacts = nil
		}
		if req.Status == "" || t.Status.State == req.Status {
			out.Tasks = append(out.Tasks, t)
		}
	}
	out.TotalSize = len(out.Tasks)
	return out, nil
}

// GetTaskPushConfig implements a2asrv.RequestHandler.
func (wire) GetTaskPushConfig(context.Context, *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

// ListTaskPushConfigs implements a2asrv.RequestHandler.
func (wire) ListTaskPushConfigs(context.Context, *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

// CreateTaskPushConfig implements a2asrv.RequestHandler.
func (wire) CreateTaskPushConfig(context.Context, *a2a.PushConfig) (*a2a.PushConfig, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

// DeleteTaskPushConfig implements a2asrv.RequestHandler.
func (wire) DeleteTaskPushConfig(context.Context, *a2a.DeleteTaskPushConfigRequest) error {
	return a2a.ErrPushNotificationNotSupported
}

// GetExtendedAgentCard implements a2asrv.RequestHandler.
func (wire) GetExtendedAgentCard(context.Context, *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	return nil, a2a.ErrExtendedCardNotConfigured
}

// fault puts an error into the protocol's words.
func (w wire) fault(ctx context.Context, err error) error {
	if known, ok := errors.AsType[*a2a.Error](err); ok {
		return known
	}
	if errors.Is(err, bridge.ErrClosing) {
		return a2a.NewError(a2a.ErrServerError, "the server is stopping; the task keeps running: subscribe to it again")
	}
	p := w.Server.Guard().Explain(ctx, err)
	text := p.Detail
	if p.Next != "" {
		text += "; " + p.Next
	}
	meta := map[string]string{"code": p.Code}
	if p.Wait > 0 { // as Retry-After says it elsewhere
		meta["retry_after"] = strconv.Itoa(int(math.Ceil(p.Wait.Seconds())))
	}
	return a2a.NewError(faults(p), text).WithErrorInfoMeta(meta)
}

// faults maps codes to the protocol's errors.
func faults(p *admission.Problem) error {
	switch p.Code {
	case "not_found":
		return a2a.ErrTaskNotFound
	case "invalid":
		return a2a.ErrInvalidParams
	case "conflict":
		return a2a.ErrInvalidRequest
	case "unauthorised":
		return a2a.ErrUnauthenticated
	case "forbidden":
		return a2a.ErrUnauthorized
	case "limit", "unavailable":
		return a2a.ErrServerError
	}
	return a2a.ErrInternalError
}
