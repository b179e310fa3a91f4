package tool

// Matter is something that a call is about: a file, a page, a command of a shell line.
type Matter struct {
	// Forms are the texts that a rule may know it by.
	Forms []string
	// Inside are texts that it also amounts to. A rule that denies some calls, or asks about
	// them, counts for these too; one that allows does not.
	Inside []string
	// Hidden means that the texts do not tell all of it: no rule for some calls allows it.
	Hidden bool
	// Asked means that a person decides about it each time: no rule allows it.
	Asked bool
}

// About is the subject of a call, for rules and for the person who is asked.
type About struct {
	Matters []Matter
	// Pattern is what a person may approve for later calls too; empty if each must be looked at.
	Pattern string
}

// Accountable is a tool that can name the subject of a call. For other tools rules know only the
// name.
type Accountable interface {
	About(call Call) About
}

// About asks a tool for the subject of a call. A call that does not fit the schema has a hidden
// subject; it is never run.
func (s *Set) About(call Call) About {
	call, e, err := s.admit(call)
	if err != nil {
		return About{Matters: []Matter{{Forms: []string{""}, Hidden: true}}}
	}
	if a, ok := e.tool.(Accountable); ok {
		return a.About(call)
	}
	return About{}
}
