// Command walls runs the tests of .ci/walls and adds up the attacks that they made on each item.
// The Makefile calls it.
package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// row is a line of the table: a test that attacks an item.
type row struct{ item, pkg, test, flags string }

func main() {
	log.SetFlags(0)
	text, err := os.ReadFile(".ci/walls")
	if err != nil {
		log.Fatalf("make walls: read table: %v", err)
	}
	rows, err := parse(string(text))
	if err != nil {
		log.Fatalf("make walls: .ci/walls: %v", err)
	}
	output, failed := carryOut(rows)
	line, ok := sum(rows, output)
	fmt.Println(line)
	if failed || !ok {
		os.Exit(1)
	}
}

func parse(text string) (rows []row, err error) {
	for n, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			return nil, fmt.Errorf("line %d has %d columns instead of 4", n+1, len(cells))
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, row{cells[0], cells[1], cells[2], cells[3]})
	}
	return rows, nil
}

// carryOut runs the tests of one package after another, and reports whether any failed. It shows
// their figures without the mark by which make prove would take each for one of the suite's: only
// the sum has it.
func carryOut(rows []row) (output string, failed bool) {
	for rows = slices.Clone(rows); len(rows) > 0; {
		pkg := rows[0].pkg
		var tests, flags []string
		rows = slices.DeleteFunc(rows, func(r row) bool {
			if r.pkg == pkg {
				tests, flags = append(tests, r.test), append(flags, strings.Fields(r.flags)...)
			}
			return r.pkg == pkg
		})
		dir := "."
		if below, ok := strings.CutPrefix(pkg, "./standalone/"); ok {
			dir, pkg = "standalone", "./"+below // a module of its own
		}
		run := []string{"test", pkg, "-tags", "services", "-count=1", "-v", "-timeout", "20m", "-run", "^(" + strings.Join(tests, "|") + ")$"}
		cmd := exec.Command("go", append(run, flags...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		output, failed = output+string(out), failed || err != nil
		fmt.Print(strings.ReplaceAll(string(out), "proof: walls ", "walls "))
	}
	return output, failed
}

var figure = regexp.MustCompile(`proof: walls (\S+): (\d+) attempts, (\d+) succeeded`)

// sum adds up what the tests printed. It is not ok if a test did not pass, an item has no attempt,
// or an attack succeeded.
func sum(rows []row, output string) (line string, ok bool) {
	attempts, succeeded := map[string]int{}, map[string]int{}
	var items, missing []string
	for _, r := range rows {
		if !strings.Contains(output, "--- PASS: "+r.test+" (") {
			missing = append(missing, r.test)
		}
		if !slices.Contains(items, r.item) {
			items = append(items, r.item)
		}
	}
	total, won := 0, 0
	for _, match := range figure.FindAllStringSubmatch(output, -1) {
		tried, _ := strconv.Atoi(match[2])
		held, _ := strconv.Atoi(match[3])
		attempts[match[1]], succeeded[match[1]] = attempts[match[1]]+tried, succeeded[match[1]]+held
		total, won = total+tried, won+held
	}
	for _, item := range items {
		if attempts[item] == 0 {
			missing = append(missing, "attacks on "+item)
		}
		line += fmt.Sprintf("walls %s in all: %d attempts, %d succeeded\n", item, attempts[item], succeeded[item])
	}
	line += fmt.Sprintf("proof: walls: %d items, %d attempts, %d succeeded", len(items), total, won)
	if len(missing) > 0 {
		line += "; missing: " + strings.Join(missing, ", ")
	}
	return line, won == 0 && len(missing) == 0
}
