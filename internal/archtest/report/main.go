// Command report prints the sizes of the packages and what is worth a look: long files and
// functions, missing package comments, names that say nothing. It judges; it never fails a build.
package main

import (
	"log"
	"os"

	"github.com/retinue-dev/retinue/internal/archtest"
)

func main() {
	log.SetFlags(0)
	tree, err := archtest.Load(os.DirFS("."))
	if err != nil {
		log.Fatal(err)
	}
	if err := archtest.Report(os.Stdout, tree); err != nil {
		log.Fatal(err)
	}
}
