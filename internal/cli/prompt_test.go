package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/cli/exit"
	"github.com/retinue-dev/retinue/wire"
)

// TestATaskThatIsTooLong is refused before a conversation begins. The longest one, in characters of
// two bytes, is taken.
func TestATaskThatIsTooLong(t *testing.T) {
	cmd := &cobra.Command{}
	longest := strings.Repeat("ü", wire.MaxText)
	cmd.SetIn(strings.NewReader(longest))
	if got, err := promptOf(cmd, "-"); got != longest || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	cmd.SetIn(strings.NewReader(longest + "x"))
	_, err := promptOf(cmd, "-")
	own, ok := errors.AsType[*exit.Error](err)
	if !ok || own.Code != exit.Usage || !strings.Contains(err.Error(), "at most 200000 can be sent") {
		t.Errorf("got %v", err)
	}
}
