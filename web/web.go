// Package web holds the built pages of the web app. It may import nothing of this module and
// promises nothing but files: with the build tag web they are those of web/dist, without it there
// are none, so that everything builds and is tested where there is no node.
package web

import "io/fs"

// Pages are the files of the built app: index.html, what it asks for by a fixed name, and assets/
// with names that change with their content. It is nil in a program that was built without them.
func Pages() fs.FS { return pages() }
