//go:build services

package crash

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

// toolbox has two tools that leave a line in the ledger of effects each time they run: one that must
// not be run twice, and one that may.
type toolbox struct {
	file string
}

// Tools implements durable.Toolbox.
func (b toolbox) Tools(string) (*tool.Set, error) {
	return tool.NewSet(tool.Options{},
		stamp{name: "shell", class: chat.ClassOnce, argument: "command", file: b.file},
		stamp{name: "write_file", class: chat.ClassIdempotent, argument: "path", file: b.file})
}

// labour in the arguments of a call makes it take long.
const labour = "labour"

// stamp is one of them, under the name of a tool that roles may have.
type stamp struct {
	name     string
	class    chat.EffectClass
	argument string
	file     string
}

func (s stamp) Definition() tool.Definition {
	schema, err := json.Marshal(map[string]any{
		"type": "object", "required": []string{s.argument},
		"properties": map[string]any{s.argument: map[string]any{"type": "string"}},
	})
	if err != nil {
		panic(err)
	}
	return tool.Definition{
		Name: s.name, Description: "Leaves a line in a ledger.", Schema: schema, Class: s.class, Writes: true,
	}
}

// Run leaves the line first and then takes its time, so that a kill finds effects without results.
func (s stamp) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	note(s.file, string(s.class)+" "+call.ID)
	h := fnv.New32()
	_, _ = h.Write([]byte(call.ID))
	takes := time.Duration(50+h.Sum32()%500) * time.Millisecond
	if strings.Contains(string(call.Args), labour) {
		takes = 4 * time.Second
	}
	select {
	case <-ctx.Done():
	case <-time.After(takes):
	}
	return tool.Result{Text: "stamped"}, ctx.Err()
}
