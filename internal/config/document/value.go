package document

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// longestTime is the most that a duration may be: nothing here is meant to take longer.
const longestTime = 7 * 24 * time.Hour

// ToMillis reads a duration: "5m", or a number of units.
func (n Node) ToMillis(unit time.Duration, to *int64) error {
	var length time.Duration
	if number, err := strconv.ParseFloat(n.Text, 64); err == nil && n.Kind != Bool {
		if !(number > 0 && number <= float64(longestTime/unit)) {
			return n.Complain("expected a time above zero and up to %s", longestTime)
		}
		length = time.Duration(number * float64(unit))
	} else if length, err = time.ParseDuration(strings.TrimSpace(n.Text)); err != nil {
		return n.Complain("expected a time such as 90s or 5m")
	}
	if length < time.Millisecond || length > longestTime {
		return n.Complain("expected a time above zero and up to %s", longestTime)
	}
	*to = length.Milliseconds()
	return nil
}

// ToMicros reads a budget in US dollars: above zero, which would mean none.
func (n Node) ToMicros(to *int64) error {
	if err := n.ToPrice(to); err != nil || *to == 0 {
		return n.Complain("expected an amount of US dollars above zero")
	}
	return nil
}

// ToPrice reads an amount of US dollars, rounded up to millionths. No binary fraction comes near
// money.
func (n Node) ToPrice(to *int64) error {
	text := strings.TrimPrefix(strings.TrimSpace(n.Text), "$")
	amount, ok := new(big.Rat), len(text) <= 32 && !strings.ContainsAny(text, "eEpPxX")
	if ok {
		amount, ok = amount.SetString(text)
	}
	if !ok || amount.Sign() < 0 || amount.Cmp(big.NewRat(1_000_000, 1)) > 0 {
		return n.Complain("expected an amount of US dollars")
	}
	micros := amount.Mul(amount, big.NewRat(1_000_000, 1))
	whole := new(big.Int).Div(new(big.Int).Add(micros.Num(), new(big.Int).Sub(micros.Denom(), big.NewInt(1))), micros.Denom())
	*to = whole.Int64()
	return nil
}

// ToCount reads a whole number from 1 up to most.
func (n Node) ToCount(to *int, most int) error {
	count, err := strconv.Atoi(strings.ReplaceAll(n.Text, "_", ""))
	if err != nil || n.Kind == Bool || count < 1 || count > most {
		return n.Complain("expected a whole number from 1 to %d", most)
	}
	*to = count
	return nil
}

// ToText reads a scalar as text.
func (n Node) ToText(to *string) error {
	if n.Kind == List || n.Kind == Table || n.Kind == Null {
		return n.Complain("expected text, found %s", n.Kind)
	}
	*to = strings.TrimSpace(n.Text)
	return nil
}

// ToBool reads true or false, or a word for one of them.
func (n Node) ToBool(to *bool) error {
	switch strings.ToLower(n.Text) {
	case "true", "yes", "on":
		*to = true
	case "false", "no", "off":
		*to = false
	default:
		return n.Complain("expected true or false")
	}
	return nil
}

// ToWord reads one of a few words; case and separators do not matter.
func ToWord[T ~string](n Node, to *T, allowed ...T) error {
	for _, word := range allowed {
		if n.Kind == Text && Fold(n.Text) == Fold(string(word)) {
			*to = word
			return nil
		}
	}
	var words []string
	for _, word := range allowed {
		words = append(words, string(word))
	}
	return n.Complain("%q is not among the words for it: %s", n.Text, Meant(n.Text, words))
}

// ToSchema keeps a JSON Schema, in canonical form.
func (n Node) ToSchema(to *json.RawMessage) error {
	if n.Kind != Table {
		return n.Complain("expected a JSON Schema")
	}
	data, err := json.Marshal(n.Plain())
	if err != nil {
		return n.Complain("%v", err)
	}
	*to = data
	return nil
}

// Words reads a list, or one text with commas.
func (n Node) Words() ([]Node, error) {
	switch n.Kind {
	case List:
		for _, item := range n.Items {
			if item.Kind == List || item.Kind == Table || item.Kind == Null {
				return nil, item.Complain("expected a name, found %s", item.Kind)
			}
		}
		return n.Items, nil
	case Text, Number, Bool:
		var out []Node
		for _, word := range CutCommas(n.Text) {
			out = append(out, Node{Line: n.Line, Column: n.Column, Kind: Text, Text: word})
		}
		return out, nil
	case Null:
		return nil, nil
	case Table:
	}
	return nil, n.Complain("expected a list of names, found %s", n.Kind)
}

// CutCommas splits at commas outside parentheses: Read, Agent(a, b).
func CutCommas(text string) []string {
	var out []string
	open, start := 0, 0
	for i, r := range text + "," {
		switch {
		case r == '(':
			open++
		case r == ')':
			open--
		case r == ',' && (open <= 0 || i == len(text)):
			if word := strings.TrimSpace(text[start:i]); word != "" {
				out = append(out, word)
			}
			start = i + 1
		}
	}
	return out
}

// Plain is a value as encoding/json would have read it.
func (n Node) Plain() any {
	switch n.Kind {
	case Null:
		return nil
	case Text:
		return n.Text
	case Bool:
		return n.Text == "true"
	case Number:
		if f, err := json.Number(n.Text).Float64(); err == nil && json.Valid([]byte(n.Text)) {
			return f
		}
		return n.Text
	case List:
		list := make([]any, 0, len(n.Items))
		for _, item := range n.Items {
			list = append(list, item.Plain())
		}
		return list
	case Table:
		table := make(map[string]any, len(n.Pairs))
		for _, p := range n.Pairs {
			table[p.Key] = p.Value.Plain()
		}
		return table
	}
	return nil
}
