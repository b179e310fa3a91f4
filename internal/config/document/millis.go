package document

import (
	"fmt"
	"time"
)

// Millis is a time in milliseconds, written as 90s or 5m.
type Millis int64

// Words is the time as people say it: 5 minutes, 90 seconds.
func (m Millis) Words() string {
	d := time.Duration(m) * time.Millisecond
	switch {
	case d >= 2*time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%d hours", d/time.Hour)
	case d >= 2*time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d minutes", d/time.Minute)
	case d%time.Second == 0:
		return fmt.Sprintf("%d seconds", d/time.Second)
	}
	return d.String()
}
