// Package local is a whole installation on one person's machine: a site is a node of app with the
// engine that runs on the data folder, found or started here, and the demo is a site with a
// scripted model. It also finds the server that runs on a data folder.
//
// It may import app, the settings, the client and the scripted model. It promises that one process
// at a time runs the engine of a data folder, that another goes on with it when that one ends, and
// that the demo reads and writes nothing of the person's.
package local
