package receipt

import "strings"

// The reasons of findings on files.
const (
	reasonUntouched = "nothing in the run touched it"
	reasonRead      = "it was only read"
	reasonMaybe     = "it may have been changed by a call that could not be looked into"
	reasonUndone    = "it is as it was before the run"
	reasonCreated   = "it was created by the run"
	reasonDeleted   = "it was deleted"
	reasonThere     = "it was there before the run"
	reasonGone      = "it is not there any more"
	reasonBlind     = "what it held before is not known"
)

// find is the change that a claimed path speaks of. The facts have paths in the workspace; an
// absolute path is one of them if it ends in it.
func (e Evidence) find(name string) (found Change, ok bool) {
	for _, c := range e.Changed {
		if c.Path == name {
			return c, true
		}
		inside := strings.HasPrefix(name, "/") && strings.HasSuffix(name, "/"+c.Path)
		if inside && len(c.Path) > len(found.Path) {
			found, ok = c, true
		}
	}
	return found, ok
}

// judgeCreated checks the claim that a file was created against the facts, and notes which file it
// speaks of.
func (e Evidence) judgeCreated(name string, claimed map[string]bool) Finding {
	c, touched := e.find(name)
	if !touched {
		return e.untouched(KindCreated, name)
	}
	claimed[c.Path] = true
	f := Finding{Kind: KindCreated, Claim: name}
	switch {
	case c.Before == "" && c.After != "":
		f.Verdict = Verified
	case c.Before != "":
		f.Verdict, f.Reason = Contradicted, reasonThere
	default:
		f.Verdict, f.Reason = e.undone(), reasonGone
	}
	return f
}

// judgeModified checks the claim that a file was changed against the facts. One that the run
// created is listed as created.
func (e Evidence) judgeModified(name string, claimed map[string]bool) Finding {
	c, touched := e.find(name)
	if !touched {
		return e.untouchedOrBelow(name, claimed)
	}
	claimed[c.Path] = true
	f := Finding{Kind: KindModified, Claim: name}
	switch {
	case !c.differs():
		f.Verdict, f.Reason = e.undone(), reasonUndone
	case c.Before == "":
		f.Kind, f.Verdict, f.Reason = KindCreated, Verified, reasonCreated
	case c.After == "":
		f.Verdict, f.Reason = Verified, reasonDeleted
	case c.Before == Unknown || c.After == Unknown:
		f.Verdict, f.Reason = Verified, reasonBlind
	default:
		f.Verdict = Verified
	}
	return f
}

// undone is the verdict on a file that the facts show unchanged.
func (e Evidence) undone() Verdict {
	if e.complete() {
		return Contradicted
	}
	return Unverified
}

// untouchedOrBelow lets a folder stand for the files in it that were changed.
func (e Evidence) untouchedOrBelow(name string, claimed map[string]bool) Finding {
	found := false
	for _, c := range e.Changed {
		if c.differs() && strings.HasPrefix(c.Path, name+"/") {
			claimed[c.Path], found = true, true
		}
	}
	if found {
		return Finding{Kind: KindModified, Claim: name, Verdict: Verified}
	}
	return e.untouched(KindModified, name)
}

// untouched is a claimed file that no fact shows changed.
func (e Evidence) untouched(kind Kind, name string) Finding {
	f := Finding{Kind: kind, Claim: name, Verdict: Contradicted, Reason: reasonUntouched}
	if !e.complete() {
		f.Verdict, f.Reason = Unverified, reasonMaybe
		return f
	}
	for _, read := range e.Read {
		if read.Path == name {
			f.Reason = reasonRead
		}
	}
	return f
}
