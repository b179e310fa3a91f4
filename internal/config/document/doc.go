// Package document reads what people write by hand: YAML, the JSON that is a part of it, and
// Markdown with front matter. Every value knows its line and column, so that code that cannot use
// one can say where it stands. An Origin says where a value came from, a Warning what is wrong with
// one.
//
// It imports nothing of ours. It refuses what makes a small text large, and never panics on any.
package document
