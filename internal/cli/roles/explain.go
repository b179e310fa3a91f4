package roles

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/cli/settings"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/config/document"
	"github.com/retinue-dev/retinue/internal/config/role"
)

func rolesExplain(flags *settings.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "explain NAME", Short: "Explain which file a role comes from and what hides what", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			known, err := load(cmd, flags)
			if err != nil {
				return err
			}
			found, err := known.Role(args[0])
			if err != nil {
				return err
			}
			e := known.explain(found)
			if asJSON {
				return output.JSON(cmd.OutOrStdout(), e)
			}
			e.write(output.New(cmd.OutOrStdout()), known.loaded, found)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// explanation is why a role is what it is.
type explanation struct {
	Name     string                     `json:"name"`
	Hash     string                     `json:"hash"`
	Looked   []lookedAt                 `json:"looked_at"`
	Origins  map[string]document.Origin `json:"origins"`
	Warnings []document.Warning         `json:"warnings"`
}

// lookedAt is one place in the search order, and what of this role was there.
type lookedAt struct {
	Place  string   `json:"place"`
	Used   string   `json:"used,omitempty"`
	Hidden []string `json:"hidden,omitempty"`
}

func (r roster) explain(of role.Role) explanation {
	e := explanation{Name: of.Name, Hash: of.Hash, Origins: of.Origins, Warnings: []document.Warning{}}
	var labels []string
	for _, place := range r.sources.Dirs() {
		labels = append(labels, place.Label)
	}
	if r.sources.Preset != "" {
		labels = append(labels, "presets/"+r.sources.Preset)
	}
	for _, label := range append(labels, "roles") {
		at := lookedAt{Place: label}
		within := func(file string) bool { return strings.HasPrefix(file, label+"/") }
		if within(of.File) {
			at.Used = of.File
		}
		for _, file := range of.Shadows {
			if within(file) {
				at.Hidden = append(at.Hidden, file)
			}
		}
		e.Looked = append(e.Looked, at)
	}
	for _, w := range r.Warnings {
		if w.File == of.File || slices.Contains(of.Shadows, w.File) || sameName(w.File, of.Name) {
			e.Warnings = append(e.Warnings, w)
		}
	}
	return e
}

// sameName reports whether a file that could not be read would have been this role.
func sameName(file, role string) bool {
	plain := strings.NewReplacer("-", "", "_", "", " ", "")
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	return strings.EqualFold(plain.Replace(name), plain.Replace(role))
}

func (e explanation) write(s output.Screen, loaded config.Loaded, of role.Role) {
	s.Line("%s comes from %s\n", s.Paint(output.Bold, e.Name), s.Paint(output.Bold, of.File))
	s.Line("Looked at, nearest first:")
	var list []output.Row
	for i, at := range e.Looked {
		place := at.Place
		if place == "roles" || strings.HasPrefix(place, "presets/") {
			place = "built-in " + place
		}
		value := "nothing of that name"
		if at.Used != "" {
			value = "used: " + filepath.Base(at.Used)
		} else if len(at.Hidden) > 0 {
			value = "hidden: " + strings.Join(at.Hidden, ", ")
		}
		list = append(list, output.Row{Label: fmt.Sprintf("%2d  %s", i+1, place), Value: value})
	}
	s.Rows(list)
	s.Line("")
	showRole(s, loaded, of)
	if len(e.Warnings) > 0 {
		s.Line("\nWarnings:")
		for _, w := range e.Warnings {
			s.Line("  %s", s.Paint(output.Yellow, w.Error()))
		}
	}
}
