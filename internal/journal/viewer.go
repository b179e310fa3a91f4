package journal

import "context"

type viewerKey struct{}

// For is a context in which a journal is read for a person, by their id: private conversations of
// others are hidden, as if they did not exist. Without it the program reads for itself and sees
// everything. A store that keeps one person's conversations takes no notice.
func For(ctx context.Context, viewer string) context.Context {
	return context.WithValue(ctx, viewerKey{}, viewer)
}

type readingKey struct{}

// ForReading is a context of a request that changes nothing. A store may keep separate connections
// for these, so that commands find one even if many come.
func ForReading(ctx context.Context) context.Context {
	return context.WithValue(ctx, readingKey{}, true)
}

// IsReading reports whether a context is of a request that changes nothing.
func IsReading(ctx context.Context) bool {
	reading, _ := ctx.Value(readingKey{}).(bool)
	return reading
}

// ViewerOf is the person that a context reads for, empty if it is the program itself.
func ViewerOf(ctx context.Context) string {
	viewer, _ := ctx.Value(viewerKey{}).(string)
	return viewer
}
