package doctor

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/config/document"
)

// checkWeb says what agents can read of the web.
func (d *doctor) checkWeb() {
	s := d.settings.Web
	if len(s.Hosts)+len(s.Local) == 0 {
		d.say(OK, "web", "agents read no pages: web.hosts is empty", "")
		return
	}
	if err := d.parts.Pages(); err != nil {
		d.say(Fail, "web", err.Error(), "correct it; without it no worker starts")
		return
	}
	d.say(OK, "web", "pages can be read from "+strings.Join(slices.Concat(s.Hosts, s.Local), ", "), "")
	if key, err := s.Search.Key.Reveal(d.lookup); err == nil && key != "" {
		d.say(OK, "web search", "key "+s.Search.Key.Reference()+" found", "")
		return
	}
	level := OK // nobody asked for it
	if d.loaded.Origins["web.search.key"].Kind != document.FromDefault {
		level = Warn
	}
	d.say(level, "web search", "no key: web_search is not offered", "set TAVILY_API_KEY, or web.search.key to where the key is")
}

// checkDataDir tries to write where the data is or will be.
func (d *doctor) checkDataDir() {
	dir := d.settings.DataDir
	at := dir
	for at != filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil {
			break
		}
		at = filepath.Dir(at)
	}
	f, err := os.CreateTemp(at, ".retinue-doctor-*")
	if err != nil {
		d.say(Fail, "data folder", dir+" cannot be written: "+reason(err), "change its owner, or set data_dir")
		return
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		d.say(Fail, "data folder", err.Error(), "look at the file system")
		return
	}
	d.say(OK, "data folder", dir+" is writable", "")
}

// checkPrograms looks for the programs that tools use.
func (d *doctor) checkPrograms() {
	for _, p := range []struct{ name, without string }{
		{"rg", "searching is slower without it; install ripgrep"},
		{"git", "changes cannot be shown or undone without it; install git"},
	} {
		if at, err := exec.LookPath(p.name); err == nil {
			d.say(OK, p.name, at, "")
		} else {
			d.say(Warn, p.name, "not found", p.without)
		}
	}
}

// checkSandbox opens the sandbox, which tests itself.
func (d *doctor) checkSandbox(ctx context.Context) {
	const check = "sandbox"
	switch box, err := d.parts.Sandbox(ctx); {
	case err != nil:
		d.say(Warn, check, message(err), "agents cannot run commands until then; see docs/security.md")
	case box.Warning != "":
		d.say(Warn, check, box.Warning, "set sandbox.tier, or run as an ordinary user")
	default:
		d.say(OK, check, box.Tier+" works (its self-test passed)", "")
	}
}
