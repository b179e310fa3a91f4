package builtin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
)

// TestWhatIsShownIsReadTwice changes a file between the two reads.
func TestWhatIsShownIsReadTwice(t *testing.T) {
	for _, c := range []struct {
		name  string
		times int
		want  []string
		fails bool
	}{
		{"at rest", 0, []string{"0000"}, false},
		{"changed once", 1, []string{"0000", "1111"}, false},
		{"changed for ever", 9, []string{"0000", "1111", "2222"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "file")
			write := func(n int) {
				if err := os.WriteFile(name, []byte(strings.Repeat(string(rune('0'+n)), 4)), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(name, time.Time{}, time.Unix(1, 0)); err != nil { // the clock of a disk is coarse
					t.Fatal(err)
				}
			}
			write(0)
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			var seen []string
			_, err = read(t.Context(), f, func(data []byte) bool {
				seen = append(seen, string(data))
				if len(seen) <= c.times {
					write(len(seen))
				}
				return true
			})
			if diff := cmp.Diff(c.want, seen); diff != "" {
				t.Error(diff)
			}
			if e, ok := errors.AsType[*chat.Error](err); ok != c.fails || ok && !strings.Contains(e.Message, "changed while it was read") {
				t.Errorf("got %v", err)
			}
		})
	}
}
