// Package config reads the settings of Retinue: layers of files, variables and flags, the secrets
// that they refer to, and the MCP servers of a person and a project. It turns them into plain data,
// and does nothing else with them.
//
// Settings come in layers, the nearest one wins, and a denial in any layer stays. A secret is a
// reference until the moment it is used, and never prints. A file that cannot be used is named in a
// warning with its line.
//
// Roles are read by config/role, prompts are written by config/prompt, and config/document reads
// the formats of all three. The package imports chat and agent, for their vocabulary of limits and
// authority. It reads files when asked to, and no clock and no network ever.
package config
