// Command cover reads what go test -cover writes, and prints the part of each shipped package
// that its own tests run. It fails if one runs too little of its package without a reason.
package main

import (
	"log"
	"os"

	"github.com/retinue-dev/retinue/internal/archtest"
)

func main() {
	log.SetFlags(0)
	covered, err := archtest.ParseCoverage(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	tree, err := archtest.Load(os.DirFS("."))
	if err != nil {
		log.Fatal(err)
	}
	findings, err := archtest.Cover(os.Stdout, tree, covered, archtest.Uncovered)
	if err != nil {
		log.Fatal(err)
	}
	if findings > 0 {
		os.Exit(1)
	}
}
