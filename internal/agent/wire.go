package agent

import (
	"encoding/json"
	"fmt"
)

// MarshalEffect writes an effect with its name, for a host that carries it out elsewhere.
func MarshalEffect(e Effect) ([]byte, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("marshal effect %s: %w", EffectName(e), err)
	}
	return json.Marshal(ordered{Name: EffectName(e), Effect: body})
}

type ordered struct {
	Name   string          `json:"name"`
	Effect json.RawMessage `json:"effect"`
}

// UnmarshalEffect reads what MarshalEffect wrote.
func UnmarshalEffect(data []byte) (Effect, error) {
	var o ordered
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, fmt.Errorf("unmarshal effect: %w", err)
	}
	decode, ok := effectDecoders()[o.Name]
	if !ok {
		return nil, fmt.Errorf("unmarshal effect: unknown name %q", o.Name)
	}
	return decode(o.Effect)
}

// EffectName is the name of an effect's type.
func EffectName(e Effect) string {
	return fmt.Sprintf("%T", e)[len("agent."):]
}

func effectDecoders() map[string]func([]byte) (Effect, error) {
	return map[string]func([]byte) (Effect, error){
		"Append": effectAs[Append], "Settle": effectAs[Settle], "Enlist": effectAs[Enlist],
		"EndTask": effectAs[EndTask], "OpenApproval": effectAs[OpenApproval],
		"CloseApproval": effectAs[CloseApproval], "Relay": effectAs[Relay],
		"CloseQuestion": effectAs[CloseQuestion], "Note": effectAs[Note], "Void": effectAs[Void],
		"EndTurn": effectAs[EndTurn], "Grant": effectAs[Grant], "CallModel": effectAs[CallModel],
		"CallSide": effectAs[CallSide], "AbortModel": effectAs[AbortModel], "RunTool": effectAs[RunTool],
		"AbortTool": effectAs[AbortTool], "StartChild": effectAs[StartChild], "StopChild": effectAs[StopChild],
		"KillChild": effectAs[KillChild], "TellParent": effectAs[TellParent], "Ask": effectAs[Ask],
		"WithdrawQuestion": effectAs[WithdrawQuestion], "Reply": effectAs[Reply], "Correct": effectAs[Correct],
		"Finish": effectAs[Finish],
	}
}

func effectAs[T Effect](data []byte) (Effect, error) {
	var e T
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("unmarshal effect %s: %w", EffectName(e), err)
	}
	return e, nil
}

// MarshalEvent writes an event with its name, for a journal or a history.
func MarshalEvent(e Event) ([]byte, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("marshal event %s: %w", EventName(e), err)
	}
	return json.Marshal(named{Name: EventName(e), Event: body})
}

type named struct {
	Name  string          `json:"name"`
	Event json.RawMessage `json:"event"`
}

// UnmarshalEvent reads what MarshalEvent wrote.
func UnmarshalEvent(data []byte) (Event, error) {
	var n named
	if err := json.Unmarshal(data, &n); err != nil {
		return nil, fmt.Errorf("unmarshal event: %w", err)
	}
	decode, ok := decoders()[n.Name]
	if !ok {
		return nil, fmt.Errorf("unmarshal event: unknown name %q", n.Name)
	}
	return decode(n.Event)
}

// EventName is the name of an event's type, as it is recorded.
func EventName(e Event) string {
	return fmt.Sprintf("%T", e)[len("agent."):]
}

func decoders() map[string]func([]byte) (Event, error) {
	return map[string]func([]byte) (Event, error){
		"Begun": decodeAs[Begun], "Said": decodeAs[Said], "Corrected": decodeAs[Corrected],
		"Replied": decodeAs[Replied], "ModelFailed": decodeAs[ModelFailed],
		"Compacted": decodeAs[Compacted], "ToolDone": decodeAs[ToolDone],
		"ChildStarted": decodeAs[ChildStarted], "ChildWaited": decodeAs[ChildWaited],
		"ChildEnded": decodeAs[ChildEnded], "Decided": decodeAs[Decided],
		"QuestionAsked": decodeAs[QuestionAsked], "QuestionWithdrawn": decodeAs[QuestionWithdrawn],
		"Resolved": decodeAs[Resolved], "Routed": decodeAs[Routed], "Answered": decodeAs[Answered],
		"Undelivered": decodeAs[Undelivered], "CancelRequested": decodeAs[CancelRequested],
		"ChildCancelRequested": decodeAs[ChildCancelRequested], "CloseRequested": decodeAs[CloseRequested],
		"Ticked": decodeAs[Ticked],
	}
}

func decodeAs[T Event](data []byte) (Event, error) {
	var e T
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("unmarshal event %s: %w", EventName(e), err)
	}
	return e, nil
}
