// Package mcp offers the tools of MCP servers: programs that run in a sandbox, and servers that are
// reached over HTTP through the egress gate.
//
// A server's description of its tools is not believed until a person has approved it. The approved
// text is pinned in a file; a model is offered that text and nothing else, and a call is made only
// while the server still describes the tool in the same way. Hints of a server change nothing:
// every tool is of the class once, writes and reaches the network.
//
// The package imports chat, tool, sandbox and egress. A server is started when its first tool is
// called, is started again after it died, and is ended when it hangs or nobody needs it.
package mcp
