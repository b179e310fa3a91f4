package sqlite

import (
	"context"
	"database/sql"
	"regexp"

	"github.com/retinue-dev/retinue/internal/journal/sqlite/query"
)

// steady prepares statements that stay prepared.
//
// SQLite plans a statement anew when a parameter that its plan may depend on gets another value,
// and the driver empties all parameters after every run. So many statements would be planned each
// time, which takes far longer than running them. No plan depends on a parameter inside likely(),
// and likely() does nothing else.
type steady struct{ query.DBTX }

var parameters = regexp.MustCompile(`\?\d+`)

// PrepareContext implements query.DBTX.
func (s steady) PrepareContext(ctx context.Context, text string) (*sql.Stmt, error) {
	return s.DBTX.PrepareContext(ctx, parameters.ReplaceAllString(text, "likely($0)"))
}
