// Package roles has the commands that list roles, show one and explain where it comes from. It
// may import config, settings and output, and of app what a prompt says about this machine. It
// reads files and changes none.
package roles
