package model

import (
	_ "embed" // for the price table
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

//go:generate node prices.mjs

//go:embed prices.json
var priceTable []byte

// Price is what a model costs, in millionths of a US dollar per million tokens. So the product of a
// price and a number of tokens is exact in an int64, and money is never a float.
type Price struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
	// CacheRead, CacheWrite and CacheWriteHour are charged as Input when they are zero.
	CacheRead      int64 `json:"read"`
	CacheWrite     int64 `json:"write"`
	CacheWriteHour int64 `json:"write_hour"`
}

// PriceOptions are the settings of Prices.
type PriceOptions struct {
	// Override has prices by provider/model, or by provider/* for all its other models. They come
	// before the table; a price of zero means that it costs nothing.
	Override map[string]Price
	// HourCache means that a cache keeps written tokens for an hour.
	HourCache bool
}

// Prices knows what models cost.
type Prices struct {
	options PriceOptions
	table   table
}

// table is prices.json.
type table struct {
	Source    string
	Date      string
	Providers []priceProvider
}

type priceProvider struct {
	ID       string
	Match    *pattern
	Fallback []string
	Models   []priceModel
}

type priceModel struct {
	ID     string
	Match  pattern
	Window int64
	Prices []period
}

// period is a price from a day on, and the price for long inputs.
type period struct {
	From string
	Price
	Tiers []tier
}

// tier is the price of all tokens of a request whose input is longer than Above.
type tier struct {
	Above int64
	Price
}

// pattern says which names a model or a provider goes by: one of its fields is set.
type pattern struct {
	Or         []pattern
	And        []pattern
	Not        *pattern
	Equals     string
	StartsWith string `json:"starts_with"`
	EndsWith   string `json:"ends_with"`
	Contains   string
	Regex      expression
}

// expression is a regular expression that comes out of JSON.
type expression struct{ *regexp.Regexp }

// NewPrices reads the table that is built in.
func NewPrices(options PriceOptions) (*Prices, error) {
	p := &Prices{options: options}
	if err := json.Unmarshal(priceTable, &p.table); err != nil {
		return nil, fmt.Errorf("read the price table: %w", err)
	}
	return p, nil
}

// Source names the version of the table, to be kept with its charges.
func (p *Prices) Source() string { return p.table.Source + " of " + p.table.Date }

// Cost is the cost of a model's reply, in millionths of a US dollar, rounded up. Input includes
// tokens read from and written to a cache, and is charged once. An unknown cost is not zero.
func (p *Prices) Cost(provider, model string, u chat.Usage, at time.Time) (microUSD int64, known bool) {
	price, known := p.price(provider, model, u.Input, at)
	if !known || !countable(u) {
		return 0, false
	}
	write := price.CacheWrite
	if p.options.HourCache && price.CacheWriteHour > 0 {
		write = price.CacheWriteHour
	}
	plain := max(u.Input-u.CacheRead-u.CacheWrite, 0)
	sum := plain*price.Input + u.Output*price.Output +
		u.CacheRead*orInput(price.CacheRead, price) + u.CacheWrite*orInput(write, price)
	const perMillion = 1_000_000
	return (sum + perMillion - 1) / perMillion, true
}

// Window is the size of a model's context in tokens, as far as the table knows.
func (p *Prices) Window(provider, model string) (tokens int64, known bool) {
	m := p.model(provider, model)
	if m == nil || m.Window == 0 {
		return 0, false
	}
	return m.Window, true
}

func orInput(price int64, of Price) int64 {
	if price == 0 {
		return of.Input
	}
	return price
}

// countable reports whether numbers of tokens are such as a request can have. Beyond that they are
// a fault, and their product with a price might not fit.
func countable(u chat.Usage) bool {
	const most = 1_000_000_000
	for _, n := range []int64{u.Input, u.Output, u.CacheRead, u.CacheWrite} {
		if n < 0 || n > most {
			return false
		}
	}
	return true
}

// price finds the price of a request with so much input at a time.
func (p *Prices) price(provider, model string, input int64, at time.Time) (Price, bool) {
	for _, name := range []string{provider + "/" + model, provider + "/*"} {
		if price, found := p.options.Override[name]; found {
			return price, true
		}
	}
	m := p.model(provider, model)
	if m == nil || len(m.Prices) == 0 {
		return Price{}, false
	}
	valid := m.Prices[0]
	for _, next := range m.Prices[1:] {
		if at.UTC().Format(time.DateOnly) >= next.From {
			valid = next
		}
	}
	price := valid.Price
	for _, t := range valid.Tiers {
		if input > t.Above {
			price = t.Price
		}
	}
	return price, true
}

func (p *Prices) model(provider, model string) *priceModel {
	from := p.provider(provider)
	if from == nil {
		return nil
	}
	name := strings.ToLower(model)
	for _, id := range append([]string{from.ID}, from.Fallback...) {
		list := p.provider(id)
		for i := range list.Models {
			if list.Models[i].Match.fits(name) {
				return &list.Models[i]
			}
		}
	}
	return nil
}

func (p *Prices) provider(id string) *priceProvider {
	id = strings.ToLower(id)
	for i := range p.table.Providers {
		if p.table.Providers[i].ID == id {
			return &p.table.Providers[i]
		}
	}
	for i := range p.table.Providers {
		if by := p.table.Providers[i].Match; by != nil && by.fits(id) {
			return &p.table.Providers[i]
		}
	}
	return nil
}

// fits reports whether a name in lower case is one of the pattern's. An empty pattern fits nothing.
func (m *pattern) fits(name string) bool {
	for i := range m.Or {
		if m.Or[i].fits(name) {
			return true
		}
	}
	for i := range m.And {
		if !m.And[i].fits(name) {
			return false
		}
	}
	return len(m.And) > 0 ||
		m.Not != nil && !m.Not.fits(name) ||
		m.Equals != "" && name == m.Equals ||
		m.StartsWith != "" && strings.HasPrefix(name, m.StartsWith) ||
		m.EndsWith != "" && strings.HasSuffix(name, m.EndsWith) ||
		m.Contains != "" && strings.Contains(name, m.Contains) ||
		m.Regex.Regexp != nil && m.Regex.MatchString(name)
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *expression) UnmarshalJSON(data []byte) (err error) {
	var text string
	if err = json.Unmarshal(data, &text); err == nil {
		e.Regexp, err = regexp.Compile(text)
	}
	return err
}
