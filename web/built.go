//go:build web

package web

import (
	"embed"
	"io/fs"
)

//go:embed dist/index.html dist/theme.js dist/favicon.svg dist/*.gz dist/assets
var dist embed.FS

func pages() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name above is not a path
	}
	return sub
}
