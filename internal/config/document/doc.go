// Package document reads what people write by hand: YAML, the JSON that is a part of it, and
// Markdown with front matter. Every value knows its line and column, so that an error can name its
// place. An Origin says where a value came from, a Warning describes a fault of one.
//
// It imports nothing of ours. It refuses constructs that make a small text large, and never panics
// on any text.
package document
