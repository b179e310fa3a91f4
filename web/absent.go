//go:build !web

package web

import "io/fs"

func pages() fs.FS { return nil }
