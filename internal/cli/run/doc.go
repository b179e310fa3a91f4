// Package run carries one message to its answer: it says the message, shows what the agents do,
// puts questions and approvals before the person, stops the agents on Ctrl-C, and prints the
// end. It may import the other rooms of cli below it, receipt, chat, progress and the wire, and
// of local the label of demos only. It works over the API and promises the exit codes of
// docs/cli.md.
package run
