// Package toolbox has what agents work with in a workspace: tools for files, commands and pages,
// the MCP servers that people approved, trees of their own beside the workspace, and the one
// sandbox of the process.
//
// It may import the settings, the adapters of tools, the sandbox and what guards the way out. It
// promises that tools of one workspace show nothing of another, that nothing weaker runs where the
// sandbox of the settings cannot be opened, and that no call sends a secret of the process or a
// canary.
package toolbox
