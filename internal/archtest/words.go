package archtest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"unicode"
)

// Retired is a word that the glossary has replaced by another.
type Retired struct {
	Word, Say string
	// Everywhere means in texts too: documents, comments, messages and the screen. A word that English
	// needs is retired in names alone.
	Everywhere bool
	pattern    *regexp.Regexp
}

// RetiredWords reads the last table of the glossary.
func RetiredWords(glossary string) ([]Retired, error) {
	_, table, ok := strings.Cut(glossary, "\n## Retired words\n")
	if !ok {
		return nil, errors.New("the glossary has no list of retired words")
	}
	var words []Retired
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.Contains(cells[1], "---") || strings.TrimSpace(cells[1]) == "word" {
			continue
		}
		w := Retired{Word: strings.TrimSpace(cells[1]), Say: strings.TrimSpace(cells[2]), Everywhere: strings.TrimSpace(cells[3]) == "everywhere"}
		w.pattern = regexp.MustCompile(`(?i)\b(` + strings.Join(w.forms(), "|") + `)\b`)
		words = append(words, w)
	}
	if len(words) == 0 {
		return nil, errors.New("the glossary's list of retired words is empty")
	}
	return words, nil
}

// rule on words, with its reason.
var retired = rule{
	"one thing has one name",
	"a stranger knows the word that the field uses; docs/glossary.md has the list, and what to say instead",
}

// forms are a word as it may be written.
func (r Retired) forms() []string { return []string{r.Word, r.Word + "s", r.Word + "es"} }

// RetiredNames finds retired words in the names that Go code declares.
func RetiredNames(t *Tree, words []Retired) []Violation {
	say := map[string]string{}
	for _, w := range words {
		for _, form := range w.forms() {
			say[form] = w.Say
		}
	}
	var found []Violation
	for _, p := range t.Packages {
		for _, f := range p.Files {
			if ast.IsGenerated(f.Syntax) {
				continue
			}
			for _, id := range declarations(f.Syntax) {
				for _, word := range wordsOf(id.Name) {
					if better, ok := say[word]; ok {
						found = append(found, Violation{t.fset.Position(id.Pos()).String(), id.Name + ": say " + better, retired.name, retired.why})
					}
				}
			}
		}
	}
	return found
}

// declarations are the names of packages, types, functions, fields, constants and variables that a
// file declares.
func declarations(f *ast.File) []*ast.Ident {
	names := []*ast.Ident{f.Name}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names = append(names, n.Name)
		case *ast.TypeSpec:
			names = append(names, n.Name)
		case *ast.ValueSpec:
			names = append(names, n.Names...)
		case *ast.Field:
			names = append(names, n.Names...)
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				break
			}
			for _, left := range n.Lhs {
				if id, ok := left.(*ast.Ident); ok {
					names = append(names, id)
				}
			}
		}
		return true
	})
	return names
}

// wordsOf are the words of a name: newLoginLimiter has three.
func wordsOf(name string) []string {
	var words []string
	begin := 0
	letters := []rune(name)
	for i, r := range letters {
		upper := unicode.IsUpper(r)
		switch {
		case r == '_':
		case i > begin && upper && !unicode.IsUpper(letters[i-1]):
		case i > begin && upper && i+1 < len(letters) && unicode.IsLower(letters[i+1]):
		default:
			continue
		}
		if i > begin {
			words = append(words, strings.ToLower(string(letters[begin:i])))
		}
		begin = i
		if r == '_' {
			begin++
		}
	}
	return append(words, strings.ToLower(string(letters[begin:])))
}

// RetiredText finds retired words in a text: those that are retired everywhere.
func RetiredText(name, text string, words []Retired) []Violation {
	var found []Violation
	n := 0
	for line := range strings.Lines(text) {
		n++
		for _, w := range words {
			if w.Everywhere && w.pattern.MatchString(line) {
				found = append(found, Violation{fmt.Sprintf("%s:%d", name, n), w.Word + ": say " + w.Say, retired.name, retired.why})
			}
		}
	}
	return found
}
