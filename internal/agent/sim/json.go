package sim

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/retinue-dev/retinue/internal/agent"
)

// stateBytes is the most that a state may take while no child is open.
const stateBytes = 16 << 10

// throughJSON writes a state as a host would and reads it back. It must be the same, and small.
func throughJSON(s agent.State) (agent.State, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return s, fmt.Errorf("json: %w", err)
	}
	if len(s.Children) == 0 && len(data) > stateBytes {
		return s, fmt.Errorf("size: %d bytes with no child open", len(data))
	}
	var back agent.State
	if err := json.Unmarshal(data, &back); err != nil {
		return s, fmt.Errorf("json: %w", err)
	}
	if !reflect.DeepEqual(s, back) {
		return s, fmt.Errorf("json: the state does not survive: %s", data)
	}
	return back, nil
}
