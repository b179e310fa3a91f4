package sqlite

import (
	"context"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/sqlite/query"
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
			SubAgents: search.SubAgents, Count: int64(journal.Page{Limit: search.Limit}.Size()),
		})
		if err != nil {
			return err
		}
		for _, r := range rows {
			row, err := journal.Decode(journal.Kind(r.Kind), []byte(r.Body))
			if err != nil {
				return err
			}
			found := journal.MessageOf(journal.Entry{Seq: r.Seq, Row: row})
			out = append(out, journal.Hit{
				Conversation: r.ConversationID, Seq: r.Seq, At: moment(r.At), Agent: r.AgentID,
				Speaker: chat.Speaker(r.Speaker), Text: journal.Words(found.Parts),
			})
		}
		return nil
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
