// Package prompt writes what models are told: the system prompt of a role in its situation, the
// prompts of side turns, and the instructions that the owners of a workspace wrote for agents.
//
// All templates are parsed and tried when they are loaded. Words of people and models are put in as
// they are, and never searched for variables.
//
// The package imports agent, config/document and config/role. It reads files when asked to, and no
// clock and no network ever.
package prompt
