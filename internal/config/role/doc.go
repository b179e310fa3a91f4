// Package role reads the definitions of agents: Markdown files with YAML front matter, in our own
// format or in that of the tools people already use, and the roles that come with the program.
//
// Every value remembers where it came from. A file that cannot be used is left out and named in a
// warning with its line; it never stops the others. The result is a snapshot: editing a file
// changes nothing that has started.
//
// The package imports chat, agent and config/document. It reads files when asked to, and no clock
// and no network ever.
package role
