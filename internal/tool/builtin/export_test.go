package builtin

import "math"

// AlwaysRipgrep makes every search ask ripgrep first, and reports whether there is one.
func (w *Workspace) AlwaysRipgrep() bool {
	w.ripgrep = findRipgrep()
	w.ripgrep.least, w.ripgrep.prefix = 0, math.MaxInt
	return w.ripgrep.program != ""
}

// NeverRipgrep makes none do so.
func (w *Workspace) NeverRipgrep() { w.ripgrep = ripgrep{} }
