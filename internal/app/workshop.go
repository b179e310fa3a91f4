package app

import (
	"sync"

	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/builtin"
)

// workshop has the tools for each workspace of a node. It fills durable.Toolbox.
type workshop struct {
	folder func(workspace string) string

	mu   sync.Mutex
	sets map[string]*tool.Set
}

func newWorkshop(folder func(string) string) *workshop {
	return &workshop{folder: folder, sets: map[string]*tool.Set{}}
}

// Tools implements durable.Toolbox.
func (w *workshop) Tools(workspace string) (*tool.Set, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if set, ok := w.sets[workspace]; ok {
		return set, nil
	}
	var tools []tool.Tool
	if folder := w.folder(workspace); folder != "" {
		opened, err := builtin.Open(folder)
		if err != nil {
			return nil, err
		}
		tools = opened.Tools()
	}
	set, err := tool.NewSet(tool.Options{}, tools...)
	if err != nil {
		return nil, err
	}
	w.sets[workspace] = set
	return set, nil
}
