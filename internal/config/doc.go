// Package config reads what people write down for Retinue: roles, the instructions of a workspace
// and settings. It turns files into plain data and prompts, and does nothing else with them.
//
// A role is a Markdown file with YAML front matter, in our own format or in that of the tools
// people already use. Every value remembers where it came from. A file that cannot be used is left
// out and named in a warning with its line; it never stops the others. The result is a snapshot:
// editing a file changes nothing that has started.
//
// Settings come in layers, the nearest one wins, and what is denied in any layer stays denied. A
// secret is a reference until the moment it is used, and never prints.
//
// The package imports chat and agent, for their vocabulary of limits and authority. It reads files
// when asked to, and no clock and no network ever.
package config
