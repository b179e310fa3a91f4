package config

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

// Template is a text in which {env:NAME}, {file:path} and ${NAME} stand for secrets. Like a Secret
// it prints as nothing.
type Template struct{ parts []Secret }

// templateRef is a reference inside a text. Other programs write ${NAME} for a variable.
var templateRef = regexp.MustCompile(`\{(?:env|file):[^{}\s]+\}|\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// parseTemplate takes a text apart. The text outside of references must not look secret.
func parseTemplate(text, dir, home string) (Template, error) {
	var t Template
	plain := func(part string) error {
		if part != "" {
			t.parts = append(t.parts, Secret{plain: part})
		}
		if holdsKey(part) {
			return errors.New("a secret must not be written here: put it into a variable or a file, " +
				"and write {env:NAME} or {file:path}")
		}
		return nil
	}
	at := 0
	var errs error
	for _, place := range templateRef.FindAllStringIndex(text, -1) {
		ref := text[place[0]:place[1]]
		if name, ok := strings.CutPrefix(ref, "${"); ok {
			ref = "{env:" + name
		}
		before := plain(text[at:place[0]])
		secret, err := parseSecret(ref, dir, home)
		t.parts = append(t.parts, secret)
		errs = errors.Join(errs, before, err)
		at = place[1]
	}
	if errs = errors.Join(errs, plain(text[at:])); errs != nil {
		return Template{}, errs
	}
	if strings.Contains(t.Reference(), "${") {
		return Template{}, errors.New("only {env:NAME}, {file:path} and ${NAME} stand for something else here")
	}
	return t, nil
}

var (
	// keyBeginning is how the keys of well-known services begin, and likelyBeginning how those do
	// that look like words without a digit.
	keyBeginning    = regexp.MustCompile(`\b(gh[opsu]|github_pat|glpat|xox[abp])[-_]\w{4,}|\bAIza\w{4,}|\bAKIA\w{12,}`)
	likelyBeginning = regexp.MustCompile(`\b(sk|pk|gsk|xai|rtn)[-_][\w-]{8,}`)
	// longRun is a word that is long enough to be a key.
	longRun = regexp.MustCompile(`[A-Za-z0-9_+=-]{20,}`)
	// hexRun is a key in hexadecimal.
	hexRun = regexp.MustCompile(`\b[0-9a-fA-F]{32,}\b`)
)

// holdsKey reports whether a text has a key or a password in it. Unlike settings that are secrets,
// arguments of programs are mostly paths and names, which may be long too.
func holdsKey(text string) bool {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		if _, password := u.User.Password(); password {
			return true
		}
	}
	for _, word := range strings.Fields(text) {
		key, value, ok := strings.Cut(word, "=")
		if ok && strings.Contains(strings.ToLower(key), "password") && value != "" {
			return true
		}
	}
	for _, run := range longRun.FindAllString(text, -1) {
		if strings.ContainsFunc(run, unicode.IsDigit) && strings.ContainsFunc(run, unicode.IsUpper) && strings.ContainsFunc(run, unicode.IsLower) {
			return true
		}
	}
	for _, run := range likelyBeginning.FindAllString(text, -1) {
		if strings.ContainsFunc(run, unicode.IsDigit) {
			return true
		}
	}
	return keyBeginning.MatchString(text) || hexRun.MatchString(text)
}

// Reference is the text with its references, which may be shown.
func (t Template) Reference() string {
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.Reference())
	}
	return b.String()
}

// Reveal puts the secrets in, and lists them, so that they can be kept out of records.
func (t Template) Reveal(lookup func(string) (string, bool)) (text string, secrets []string, err error) {
	var b strings.Builder
	for _, p := range t.parts {
		value, err := p.Reveal(lookup)
		if err != nil {
			return "", nil, err
		}
		if p.ref != "" {
			secrets = append(secrets, value)
		}
		b.WriteString(value)
	}
	return b.String(), secrets, nil
}
