package sqlite

import (
	"context"
	"strings"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/sqlite/query"
	"github.com/retinue-dev/retinue/internal/journal/tables"
)

// Search implements journal.Lists.
func (l *Log) Search(
	ctx context.Context, tenant string, search journal.Query,
) (out []journal.Hit, err error) {
	words := match(search.Words)
	if words == "" {
		return nil, nil
	}
	err = l.view(ctx, "search", func(q *query.Queries) error {
		rows, err := q.SearchMessages(ctx, query.SearchMessagesParams{
			Tenant: tenant, Words: words, Conversation: search.Conversation,
			SubAgents: search.SubAgents, Count: tables.Size(search.Limit),
		})
		if err != nil {
			return err
		}
		out, err = tables.Hits(rows)
		return err
	})
	return out, err
}

// match is a search in the language of the full-text index: every word in quotes of its own.
func match(words string) string {
	var terms []string
	for _, word := range journal.Split(words) {
		terms = append(terms, `"`+word+`"`)
	}
	return strings.Join(terms, " ")
}
