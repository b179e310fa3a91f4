package output

import (
	"fmt"
	"time"

	"github.com/retinue-dev/retinue/internal/progress"
)

// Seconds is a time as people read it: 0.4s, 12.3s, 4m05s, 2h10m.
func Seconds(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Count is a number of tokens in at most six characters.
func Count(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// Money is a cost in at most eight characters, empty when no price is known.
func Money(u progress.Usage) string {
	switch {
	case u.Cost == 0 && u.Unpriced > 0:
		return ""
	case u.Cost == 0:
		return "$0"
	case u.Cost < 1:
		return fmt.Sprintf("$%.4f", u.Cost)
	}
	return fmt.Sprintf("$%.2f", u.Cost)
}

// Cost is a cost in words: what is not known is said.
func Cost(u progress.Usage) string {
	if u.Unpriced == 0 {
		return Money(u)
	}
	if u.Cost == 0 {
		return "price not known"
	}
	return fmt.Sprintf("%s and %d %s without a price", Money(u), u.Unpriced, Plural(int(u.Unpriced), "call"))
}

// Plural is a noun for so many.
func Plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// OrNone is a name, or that there is none.
func OrNone(name string) string {
	if name == "" {
		return "(none)"
	}
	return name
}
