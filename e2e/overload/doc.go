// Package overload sends a server of the shipped programs three times as much as it can take and
// looks at what becomes of it: what was acknowledged is in the journal, what was not taken on was
// refused before that and said when to come back, memory stays bounded, and things are as before
// soon after. Tests only.
package overload
