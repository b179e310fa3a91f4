package route

import "github.com/retinue-dev/retinue/wire"

// Paged asks for a part of a list.
type Paged struct {
	Limit  int   `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	Before int64 `query:"before" minimum:"0" doc:"Gives what came before this seq; zero gives the last."`
}

// Page makes a page of the last things that were read.
func Page[A, B any](list []A, limit int, f func(A) B, seq func(A) int64) wire.Page[B] {
	out := wire.Page[B]{Items: Each(list, f)}
	if len(list) > 0 && len(list) == limit {
		out.Before = seq(list[0])
	}
	return out
}

// Each turns a list into a list that is never null.
func Each[A, B any](list []A, f func(A) B) []B {
	out := make([]B, 0, len(list))
	for _, a := range list {
		out = append(out, f(a))
	}
	return out
}
