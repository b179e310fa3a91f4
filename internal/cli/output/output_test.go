package output_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/progress"
)

func TestAmounts(t *testing.T) {
	got := []string{
		output.Seconds(400 * time.Millisecond), output.Seconds(245 * time.Second), output.Seconds(130 * time.Minute),
		output.Count(999), output.Count(1200), output.Count(3_400_000),
		output.Money(progress.Usage{Unpriced: 1}), output.Money(progress.Usage{}), output.Money(progress.Usage{Cost: 0.0123}),
		output.Money(progress.Usage{Cost: 12.345}),
		output.Cost(progress.Usage{Cost: 2}), output.Cost(progress.Usage{Unpriced: 1}), output.Cost(progress.Usage{Cost: 2, Unpriced: 1}),
		output.Cost(progress.Usage{Cost: 2, Unpriced: 3}), output.OrNone(""), output.OrNone("fast"),
	}
	want := []string{
		"0.4s", "4m05s", "2h10m", "999", "1.2k", "3.4M", "", "$0", "$0.0123", "$12.35", "$2.00", "price not known",
		"$2.00 and 1 call without a price", "$2.00 and 3 calls without a price", "(none)", "fast",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRowsStandInColumns wraps a long value and keeps the remark beside its first line.
func TestRowsStandInColumns(t *testing.T) {
	var out strings.Builder
	output.Screen{Out: &out, Colour: true}.Rows([]output.Row{
		{Label: "mode", Value: "any", Remark: "default"},
		{Label: "tools", Value: strings.Repeat("word ", 13), Remark: "built-in"},
		{Label: "über", Value: "x"},
	})
	line := strings.TrimSpace(strings.Repeat("word ", 12))
	want := "  mode   any" + strings.Repeat(" ", 56) + "  \x1b[2mdefault\x1b[0m\n" +
		"  tools  " + line + "  \x1b[2mbuilt-in\x1b[0m\n         word\n  über   x\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestNoColourWhereNobodyLooks writes to a file, which is no terminal.
func TestNoColourWhereNobodyLooks(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	s := output.New(file)
	s.Line("%s", s.Paint(output.Red, "fails"))
	if err := output.JSON(file, []string{"a <b>"}); err != nil {
		t.Fatal(err)
	}
	if output.IsTerminal(file) || output.IsTerminal(&strings.Builder{}) {
		t.Error("a file is taken for a terminal")
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if want := "fails\n[\n  \"a <b>\"\n]\n"; err != nil || string(got) != want {
		t.Errorf("%v: %q, want %q", err, got, want)
	}
	if err := output.JSON(file, 1); err == nil {
		t.Error("nobody hears that the file is closed")
	}
}
