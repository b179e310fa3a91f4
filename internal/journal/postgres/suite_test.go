//go:build services

package postgres_test

import (
	"testing"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, func(t *testing.T) journaltest.Fixture {
		dsn := database(t)
		p, slow := through(t, dsn)
		return journaltest.Fixture{
			Log: open(t, slow), Other: func() journal.Log { return open(t, dsn) },
			LoseAnswer: func() { p.lose.Store(true) },
		}
	})
}
