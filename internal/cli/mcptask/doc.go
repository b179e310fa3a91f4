// Package mcptask is Retinue as an MCP server: the tools with which another program's model
// starts tasks, follows them, answers questions and cancels. It may import the MCP SDK, remote,
// progress and the wire. It promises that a model reaches no conversation that was not begun
// here, and decides no approval.
package mcptask
