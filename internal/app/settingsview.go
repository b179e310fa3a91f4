package app

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/config/document"
	"github.com/retinue-dev/retinue/internal/config/role"
	"github.com/retinue-dev/retinue/internal/tool/builtin"
	"github.com/retinue-dev/retinue/wire"
)

// installationView tells people of the settings and the files that a node has.
type installationView struct {
	node      *Node
	workspace string
}

// shownSettings are the parts of the settings that people are shown beside providers and tiers. All
// others stay with the person who runs the server.
var shownSettings = []string{"fallbacks.", "models.", "permissions.", "retention.", "roles.", "serve.limits.", "worker."}

// Settings implements api.Installation. On a server that several share nobody is told where files
// and providers are.
func (s installationView) Settings(_ context.Context, _ admission.Caller) (wire.Settings, error) {
	loaded, redact := s.node.options.Loaded, s.node.options.Vault.Redact
	shared := loaded.Settings.Shared()
	layer := func(key string) string {
		origin := loaded.Origins[key]
		if shared || origin.Kind == "" {
			return string(cmp.Or(origin.Kind, document.FromDefault))
		}
		return redact(origin.String())
	}
	out := wire.Settings{Mode: mode(loaded)}
	for _, name := range slices.Sorted(maps.Keys(loaded.Settings.Providers)) {
		p := loaded.Settings.Providers[name]
		info := wire.Provider{Name: name, Wire: string(p.Kind), HasKey: s.hasKey(p), Layer: layer("providers." + name + ".kind")}
		if !shared {
			info.Address = redact(plainAddress(p.BaseURL))
		}
		out.Providers = append(out.Providers, info)
	}
	tiers := loaded.Settings.Tiers
	for _, t := range []wire.Tier{{Tier: role.TierFast, Model: tiers.Fast}, {Tier: role.TierBalanced, Model: tiers.Balanced}, {Tier: role.TierStrong, Model: tiers.Strong}} {
		t.Layer = layer("tiers." + t.Tier)
		out.Tiers = append(out.Tiers, t)
	}
	for _, e := range loaded.Entries() {
		if slices.ContainsFunc(shownSettings, func(part string) bool { return strings.HasPrefix(e.Key, part) }) {
			out.Items = append(out.Items, wire.Setting{Key: e.Key, Value: redact(e.Value), Layer: layer(e.Key)})
		}
	}
	return out, nil
}

// DemoFlag is where the demo's settings come from.
const DemoFlag = "--demo"

// mode is what kind of installation the settings make.
func mode(loaded config.Loaded) string {
	switch {
	case loaded.Settings.Shared():
		return "hosted"
	case loaded.Origins["tiers.fast"].Name == DemoFlag:
		return "demo"
	}
	return "local"
}

// hasKey reports whether a provider's key can be found. The key goes no further.
func (s installationView) hasKey(p config.Provider) bool {
	if p.Key.IsZero() || s.node.options.Lookup == nil {
		return false
	}
	key, err := p.Key.Reveal(s.node.options.Lookup)
	return err == nil && key != ""
}

// plainAddress is an address without what may be secret in one.
func plainAddress(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

const (
	// filesTime is how long paths are looked for, and filesFound how many are put in order.
	filesTime  = 2 * time.Second
	filesFound = 5000
)

// errEnough ends a walk.
var errEnough = errors.New("enough was found")

// Files implements api.Installation. Only a server on the person's own machine shows its files, and
// only those of the workspaces that it works for.
func (s installationView) Files(ctx context.Context, workspace, text string, most int) (wire.FileList, error) {
	if s.node.options.Loaded.Settings.Shared() {
		return wire.FileList{Reason: "a server that several share shows no files"}, nil
	}
	folder := s.node.folder(LocalWorkspace(cmp.Or(workspace, s.workspace)))
	if folder == "" {
		return wire.FileList{Reason: "the server does not have this workspace"}, nil
	}
	files, err := builtin.Open(folder)
	if err != nil {
		return wire.FileList{Reason: "the workspace cannot be opened"}, nil //nolint:nilerr // it is said
	}
	defer func() { _ = files.Close() }() // nothing was written
	ctx, cancel := context.WithTimeout(ctx, filesTime)
	defer cancel()
	var found []string
	wanted := strings.ToLower(text)
	err = files.Files(ctx, func(name string, _ fs.FileInfo) error {
		if strings.Contains(strings.ToLower(name), wanted) {
			found = append(found, name)
		}
		if len(found) == filesFound {
			return errEnough
		}
		return nil
	})
	late := errors.Is(err, context.DeadlineExceeded) // what was found by then is of use
	if err != nil && !late && !errors.Is(err, errEnough) {
		return wire.FileList{}, err
	}
	slices.SortStableFunc(found, func(a, b string) int {
		return cmp.Or(cmp.Compare(fit(a, wanted), fit(b, wanted)), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	})
	return wire.FileList{Items: found[:min(len(found), most)], More: late || len(found) > most}, nil
}

// fit is how well a path fits a text; less is better: its last part begins with it, holds it, or
// only the folders do.
func fit(name, wanted string) int {
	switch i := strings.Index(strings.ToLower(path.Base(name)), wanted); {
	case i == 0:
		return 0
	case i > 0:
		return 1
	}
	return 2
}
