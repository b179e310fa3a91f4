// Command report prints the sizes of the packages, and everything that is over a bound and has no
// reason for it: large packages, long files and functions, wide comments, retired names, names that
// say nothing. It fails if there is any.
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
	glossary, err := os.ReadFile("docs/glossary.md")
	if err != nil {
		log.Fatal(err)
	}
	words, err := archtest.RetiredWords(string(glossary))
	if err != nil {
		log.Fatal(err)
	}
	findings, err := archtest.Report(os.Stdout, tree, words)
	if err != nil {
		log.Fatal(err)
	}
	if findings > 0 {
		os.Exit(1)
	}
}
