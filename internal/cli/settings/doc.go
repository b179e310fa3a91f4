// Package settings has the flags of every command that reads settings, and reads them. It may
// import app, config, secret and output. It promises that no secret of the settings or of the
// environment is in the error that a command ends with.
package settings
