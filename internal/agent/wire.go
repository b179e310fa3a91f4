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
