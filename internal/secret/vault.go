// Package secret knows the values that must not surface, and takes them out of texts. It imports
// the standard library only, and reads no settings: the code that reveals a secret adds it.
//
// A value is found as it is, and in the encodings in which programs pass values on: JSON, quoted,
// percent-encoded, hexadecimal, and base64 wherever in a longer text it begins. A value in pieces,
// encrypted, or encoded in some other way is not found, nor is one that nobody added.
package secret

import (
	"maps"
	"net/url"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

// least is how many bytes a value must have. Shorter ones occur in too many harmless texts.
const least = 8

// Vault holds the values of one process. Its methods may be called at any time, and on nil, which
// holds nothing.
type Vault struct {
	mu sync.Mutex
	// names are by value.
	names map[string]string
	// finder is made of the names when it is first needed after a change.
	finder atomic.Pointer[finder]
}

// finder finds the values of a vault at one time.
type finder struct {
	replacer *strings.Replacer
	// forms are all encodings of all values, sorted, and longest is the length of the longest.
	forms   []string
	longest int
}

// New makes a vault with what the environment seems to keep secret: the values of variables that
// are called so, and passwords in addresses. Each variable is NAME=value.
func New(environ []string) *Vault {
	v := &Vault{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if Named(name) {
			v.Add(name, value)
		}
		v.addPassword(name, value)
	}
	return v
}

// endings are what the names of variables with secrets end in.
var endings = []string{
	"KEY", "KEYS", "TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS",
}

// Named reports whether a variable's name says that its value is a secret.
func Named(variable string) bool {
	upper := strings.ToUpper(variable)
	return slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(upper, e) })
}

// Add puts a value into the vault under a name that may be shown. If the value is an address, its
// password or token is added as well.
func (v *Vault) Add(name, value string) {
	v.add(name, value)
	v.addPassword(name, value)
}

func (v *Vault) add(name, value string) {
	value = strings.TrimSpace(value)
	if v == nil || len(value) < least {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, known := v.names[value]; known {
		return
	}
	if v.names == nil {
		v.names = map[string]string{}
	}
	v.names[value] = strings.Map(plain, name)
	v.finder.Store(nil)
}

// plain leaves of a name what needs no escaping anywhere.
func plain(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._-/", r):
		return r
	}
	return '_'
}

// addPassword adds the password in an address or in a list of settings such as host=db password=x.
// A password that is the user's name is none.
func (v *Vault) addPassword(name, value string) {
	for _, address := range strings.Split(value, ",") {
		if u, err := url.Parse(address); err == nil && u.Host != "" && u.User != nil {
			password, ok := u.User.Password()
			switch user := u.User.Username(); {
			case !ok && (u.Scheme == "nats" || u.Scheme == "tls"):
				v.add(name, user)
			case password != user:
				v.add(name, password)
			}
		}
	}
	if !strings.Contains(value, "password=") {
		return
	}
	for _, word := range strings.Fields(value) {
		if password, ok := strings.CutPrefix(word, "password="); ok {
			v.add(name, strings.Trim(password, "'"))
		}
	}
}

// Withhold reports which of these variables a program started by an agent must not get: those whose
// name says that they are secret, and those whose value is in the vault. There is no exception:
// such a program uses a secret only through another program that holds it.
func (v *Vault) Withhold(variables []string, lookup func(string) (string, bool)) (secret []string) {
	for _, name := range variables {
		value, _ := lookup(name)
		if Named(name) || v.Redact(value) != value {
			secret = append(secret, name)
		}
	}
	return secret
}

// Redact replaces each value by [secret:NAME].
func (v *Vault) Redact(text string) string {
	if f := v.current(); f != nil && len(text) >= least {
		return f.replacer.Replace(text)
	}
	return text
}

// Marked reports whether a text contains a mark of a value of this vault. Writing such a text would
// replace the value by its mark.
func (v *Vault) Marked(text string) bool {
	if v == nil || !strings.Contains(text, markStart) {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, name := range v.names {
		if strings.Contains(text, mark(name)) {
			return true
		}
	}
	return false
}

const markStart = "[secret:"

// mark replaces a value.
func mark(name string) string { return markStart + name + "]" }

// Held is how many bytes at the end of a text may be the beginning of a value. A reader that has
// more text to come keeps them back until it has.
func (v *Vault) Held(text string) int {
	f := v.current()
	if f == nil {
		return 0
	}
	for i := max(0, len(text)-f.longest+1); i < len(text); i++ {
		tail := text[i:]
		at := sort.SearchStrings(f.forms, tail)
		if at < len(f.forms) && len(f.forms[at]) > len(tail) && strings.HasPrefix(f.forms[at], tail) {
			return len(tail)
		}
	}
	return 0
}

// current is the finder of the vault's values, nil if it is empty.
func (v *Vault) current() *finder {
	if v == nil {
		return nil
	}
	if f := v.finder.Load(); f != nil {
		return f
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.names) == 0 {
		return nil
	}
	f := newFinder(v.names)
	v.finder.Store(f)
	return f
}

func newFinder(names map[string]string) *finder {
	marks := map[string]string{}
	for _, value := range slices.Sorted(maps.Keys(names)) {
		for _, form := range Forms(value) {
			if _, known := marks[form]; !known {
				marks[form] = mark(names[value])
			}
		}
	}
	f := &finder{forms: slices.Sorted(maps.Keys(marks))}
	// The replacer takes the first that fits, and the longest is to be taken.
	order := slices.Clone(f.forms)
	slices.SortStableFunc(order, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, form := range order {
		pairs = append(pairs, form, marks[form])
		f.longest = max(f.longest, len(form))
	}
	f.replacer = strings.NewReplacer(pairs...)
	return f
}
