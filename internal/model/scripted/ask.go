package scripted

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/retinue-dev/retinue/internal/model/scripted/request"
)

// ask is a request with its sender and time.
type ask struct {
	*request.Request
	key string
	// print identifies the request by its content, attempt is how often it came before.
	print   string
	attempt int
}

// rule is a Rule ready for use.
type rule struct {
	Rule
	left                        int // uses left; negative is no end
	system, text, result, model *regexp.Regexp
}

func compile(r Rule) (*rule, error) {
	out := &rule{Rule: r, left: -1}
	if r.Times > 0 {
		out.left = r.Times
	}
	if r.Once {
		out.left = 1
	}
	for _, p := range []struct {
		into    **regexp.Regexp
		pattern string
	}{
		{&out.system, r.When.System},
		{&out.text, r.When.Text},
		{&out.result, r.When.Result},
		{&out.model, r.When.Model},
	} {
		if p.pattern == "" {
			continue
		}
		re, err := regexp.Compile(p.pattern)
		if err != nil {
			return nil, err
		}
		*p.into = re
	}
	return out, nil
}

// matches reports whether the rule is for this request, and what its groups caught.
func (r *rule) matches(a *ask) (map[string]string, bool) {
	w := r.When
	caught := a.words()
	ok := (w.Provider == "" || w.Provider == a.Provider) &&
		(w.Role == "" || w.Role == a.Role) &&
		(w.Turn == nil || *w.Turn == a.Turn) &&
		(w.Attempt == nil || *w.Attempt == a.attempt) &&
		(w.Results == nil || *w.Results == (len(a.Results) > 0)) &&
		(w.Key == "" || w.Key == a.key) &&
		(r.model == nil || r.model.MatchString(a.Model)) &&
		containsAll(a.Tools, w.Tools) && containsNone(a.Tools, w.NoTools) &&
		catch(caught, r.system, a.System) && catch(caught, r.result, strings.Join(a.Results, "\n")) &&
		catch(caught, r.text, a.Text)
	return caught, ok
}

// words are what every reply can use.
func (a *ask) words() map[string]string {
	return map[string]string{
		"role": a.Role, "turn": strconv.Itoa(a.Turn), "model": a.Model,
		"result": strings.Join(a.Results, "\n"),
	}
}

func catch(caught map[string]string, re *regexp.Regexp, text string) bool {
	if re == nil {
		return true
	}
	m := re.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	for i, name := range re.SubexpNames() {
		caught[strconv.Itoa(i)] = m[i]
		if name != "" {
			caught[name] = m[i]
		}
	}
	return true
}

func containsAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(have, w) })
}

func containsNone(have, not []string) bool {
	return !slices.ContainsFunc(not, func(w string) bool { return slices.Contains(have, w) })
}

var placeholder = regexp.MustCompile(`\$?\$\{(\w+)\}`)

// expand replaces ${name} by the text caught under that name. $${name} stays as ${name}.
func expand(text string, caught map[string]string) string {
	return placeholder.ReplaceAllStringFunc(text, func(m string) string {
		if strings.HasPrefix(m, "$$") {
			return m[1:]
		}
		return caught[m[2:len(m)-1]]
	})
}

// expandValue does the same in every text of a value read from YAML.
func expandValue(v any, caught map[string]string) any {
	switch v := v.(type) {
	case string:
		return expand(v, caught)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = expandValue(v[i], caught)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = expandValue(v[k], caught)
		}
		return out
	}
	return v
}

// leaves are all texts of a value read from YAML.
func leaves(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for i := range v {
			out = append(out, leaves(v[i])...)
		}
	case map[string]any:
		for k := range v {
			out = append(out, leaves(v[k])...)
		}
	}
	return out
}
