// Package past writes conversations that have been into the journal of a server that has not begun
// yet: one of last week, one with a thousand agents, one with a hundred thousand messages. The
// scenarios of web/e2e open them. It has tests only, which may import any package.
package past
