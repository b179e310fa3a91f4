// Package cli is the command tree: it turns flags into settings and hands them to app. It decides
// nothing and wires nothing; what several commands share, and what is a part by itself, is in the
// packages below it. A command that ends well exits with 0, one that fails with 1, and one that was
// called wrongly with 2; what else run says with its exit code is in docs/cli.md.
package cli
