package local

import (
	"context"
	"io"
	"strings"
	"testing"
)

// TestTheScriptedModelSaysWhereItListens runs it until it is told to end.
func TestTheScriptedModelSaysWhereItListens(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := Scripted{Example: "demo", Listen: "127.0.0.1:0"}.Run(ctx, in, io.Discard)
		ended <- err
		_ = in.CloseWithError(err)
	}()
	first := make([]byte, 4096)
	n, err := out.Read(first)
	if err != nil || !strings.Contains(string(first[:n]), "anthropic base url  http://127.0.0.1:") {
		t.Errorf("%s, %v", first[:n], err)
	}
	stop()
	rest, err := io.ReadAll(out)
	if err != nil || !strings.Contains(string(rest), "served 0 requests") {
		t.Errorf("%s, %v", rest, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := (Scripted{Example: "demo", Script: "too.yaml"}).Check(); err == nil {
		t.Error("a script and an example were taken")
	}
	var faults strings.Builder
	if err := (Scripted{}).Faults(&faults); err != nil || !strings.Contains(faults.String(), "overloaded") {
		t.Errorf("%s, %v", faults.String(), err)
	}
}
