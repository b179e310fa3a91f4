package live

// Draft is the text that a reader has of one message before its row is written.
type Draft struct {
	began int64
	parts map[int]string
}

// Fit is what a delta did to a draft.
type Fit string

// The fits.
const (
	// FitNext was appended.
	FitNext Fit = "next"
	// FitRestart replaced everything: the message was begun again.
	FitRestart Fit = "restart"
	// FitKnown was dropped: the draft had it already, or it belongs to an earlier beginning.
	FitKnown Fit = "known"
	// FitGap was dropped: something before it is missing. The part stays as it is until its row
	// comes or the message is begun again.
	FitGap Fit = "gap"
)

// Add puts a delta where it belongs, if it does.
func (d *Draft) Add(x Delta) Fit {
	fit := FitNext
	switch {
	case x.Began < d.began:
		return FitKnown
	case d.parts == nil:
		d.began, d.parts = x.Began, map[int]string{}
	case x.Began > d.began:
		d.began, d.parts = x.Began, map[int]string{}
		fit = FitRestart
	}
	have := int64(len(d.parts[x.Part]))
	switch end := x.Offset + int64(len(x.Text)); {
	case x.Offset > have:
		return FitGap
	case end <= have && have > 0:
		return FitKnown
	default:
		d.parts[x.Part] += x.Text[have-x.Offset:]
		return fit
	}
}

// Part is the text of a part, as far as it is known without a gap.
func (d *Draft) Part(part int) string { return d.parts[part] }
