package exit_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/retinue-dev/retinue/internal/cli/exit"
)

func TestMisusedKeepsItsCause(t *testing.T) {
	err := fmt.Errorf("run: %w", exit.Misused("--heads: %w", fs.ErrNotExist))
	own, ok := errors.AsType[*exit.Error](err)
	if !ok || own.Code != exit.Usage || !errors.Is(own.Err, fs.ErrNotExist) || err.Error() != "run: --heads: file does not exist" {
		t.Errorf("got %v", err)
	}
	if text := (&exit.Error{Code: exit.Person}).Error(); text != "" {
		t.Errorf("an ending with nothing to say says %q", text)
	}
}
