package cast

import (
	"context"
	"slices"

	"github.com/retinue-dev/retinue/internal/bridge"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config/role"
)

// Speakers implements bridge.Speakers.
func (c *Catalog) Speakers(ctx context.Context, workspace string) ([]bridge.Speaker, error) {
	roles, err := c.roles(within(ctx, workspace))
	if err != nil {
		return nil, &chat.Error{Code: chat.CodeInvalid, Message: err.Error()}
	}
	var out []bridge.Speaker
	for _, r := range roles.Roles() {
		if r.Hidden || r.Mode == role.ModeSubagent {
			continue
		}
		s := bridge.Speaker{Name: r.Name, Title: r.Title, Description: r.Description}
		if r.Name == "main" {
			out = slices.Insert(out, 0, s)
			continue
		}
		out = append(out, s)
	}
	return out, nil
}
