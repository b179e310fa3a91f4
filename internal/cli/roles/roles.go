package roles

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/cli/settings"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/config/document"
	"github.com/retinue-dev/retinue/internal/config/role"
)

// Command lists roles, shows one, or explains where one comes from.
func Command() *cobra.Command {
	flags := &settings.Flags{}
	list := rolesList(flags)
	cmd := &cobra.Command{
		Use:   "roles",
		Short: "List roles, show one, or explain where it comes from",
		Args:  cobra.NoArgs,
		RunE:  list.RunE,
	}
	flags.Add(cmd)
	cmd.Flags().AddFlagSet(list.Flags())
	cmd.AddCommand(list, rolesShow(flags), rolesExplain(flags))
	return cmd
}

// roster is the roles of a project, and the settings they were loaded under.
type roster struct {
	*role.Registry
	loaded  config.Loaded
	sources role.Sources
}

// load loads the roles that the settings describe.
func load(cmd *cobra.Command, flags *settings.Flags) (roster, error) {
	loaded, err := flags.Load(cmd)
	if err != nil {
		return roster{}, err
	}
	sources, err := loaded.Sources()
	if err != nil {
		return roster{}, fmt.Errorf("read permissions: %w", err)
	}
	registry, err := role.Load(sources)
	if err != nil {
		return roster{}, fmt.Errorf("read roles: %w", err)
	}
	return roster{registry, loaded, sources}, nil
}

func rolesList(flags *settings.Flags) *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the roles that can be used", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			known, err := load(cmd, flags)
			if err != nil {
				return err
			}
			var roles []role.Role
			for _, r := range known.Roles() {
				if all || !r.Hidden {
					roles = append(roles, r)
				}
			}
			if asJSON {
				views := []roleView{}
				for _, r := range roles {
					views = append(views, roleView{Role: r, Hash: r.Hash, File: r.File, Hidden: r.Hidden})
				}
				return output.JSON(cmd.OutOrStdout(), struct {
					Roles    []roleView         `json:"roles"`
					Warnings []document.Warning `json:"warnings"`
				}{views, slices.Concat([]document.Warning{}, known.Warnings)})
			}
			settings.Warn(cmd, known.Warnings)
			listRoles(output.New(cmd.OutOrStdout()), roles)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	cmd.Flags().BoolVar(&all, "all", false, "include hidden roles")
	return cmd
}

// roleView is a role as JSON: its snapshot, and what is known of it besides.
type roleView struct {
	role.Role
	Hash    string                     `json:"hash"`
	File    string                     `json:"file"`
	Hidden  bool                       `json:"hidden,omitempty"`
	Shadows []string                   `json:"shadows,omitempty"`
	Origins map[string]document.Origin `json:"origins,omitempty"`
	Extra   map[string]any             `json:"extra,omitempty"`
	System  []stretchView              `json:"system,omitempty"`
}

type stretchView struct {
	Text  string `json:"text"`
	Cache bool   `json:"cache"`
}

func listRoles(s output.Screen, roles []role.Role) {
	cells := [][]string{{"ROLE", "MODEL", "MAY", "LIMITS", "FROM"}}
	for _, r := range roles {
		cells = append(cells, []string{r.Name, r.Model, may(r), limits(r), origin(r)})
	}
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, cell := range line {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for n, line := range cells {
		var out strings.Builder
		for i, cell := range line {
			text := output.Pad(cell, widths[i])
			switch {
			case n == 0, i == len(line)-1:
				text = s.Paint(output.Dim, text)
			case i == 0:
				text = s.Paint(output.Bold, text)
			}
			out.WriteString(text + "  ")
		}
		s.Line("%s", strings.TrimRight(out.String(), " "))
		if n > 0 {
			for _, part := range output.Wrap(clipped(roles[n-1].Description, 160), 90) {
				s.Line("    %s", part)
			}
		}
	}
}

// clipped keeps the beginning of a text that may be long.
func clipped(text string, most int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= most {
		return string(runes)
	}
	return strings.TrimSpace(string(runes[:most])) + " …"
}

// may says in a few words what a role can do itself.
func may(r role.Role) string {
	words := []string{"read"}
	if r.Own().Write {
		words = append(words, "write")
	}
	if r.Own().Network {
		words = append(words, "network")
	}
	if len(r.Delegates) > 0 {
		words = append(words, "delegate")
	}
	return strings.Join(words, ", ")
}

func limits(r role.Role) string {
	return fmt.Sprintf("%d turns, %s", r.Limits.Iterations, length(r.Limits.Time))
}

// length is a time in milliseconds without the zeros at its end: 5m, 1h30m.
func length(ms int64) string {
	text := (time.Duration(ms) * time.Millisecond).String()
	for _, zero := range []string{"0s", "0m"} {
		if rest, ok := strings.CutSuffix(text, zero); ok && strings.HasSuffix(rest, map[string]string{"0s": "m", "0m": "h"}[zero]) {
			text = rest
		}
	}
	return text
}

// origin is where a role was read, as people know it.
func origin(r role.Role) string {
	if r.Origins["description"].Kind == document.FromBuiltIn {
		return "built-in"
	}
	return r.File
}
