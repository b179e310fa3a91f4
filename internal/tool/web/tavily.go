package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

// Tavily is the search engine of that name.
type Tavily struct {
	fetcher Fetcher
	url     string
	// key is a function so that no way of printing a value shows it.
	key func() string
}

// NewTavily makes a searcher of a fetcher, the address of its search and a key.
func NewTavily(f Fetcher, url, key string) Tavily {
	return Tavily{fetcher: f, url: url, key: func() string { return key }}
}

// Search implements Searcher.
func (t Tavily) Search(ctx context.Context, q Query) (Found, error) {
	question, err := json.Marshal(struct {
		Query   string   `json:"query"`
		Limit   int      `json:"max_results"`
		Include []string `json:"include_domains,omitempty"`
		Exclude []string `json:"exclude_domains,omitempty"`
	}{q.Text, q.Limit, q.Include, q.Exclude})
	if err != nil {
		return Found{}, fmt.Errorf("ask Tavily: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(question))
	if err != nil {
		return Found{}, t.hide(err)
	}
	request.Header.Set("Authorization", "Bearer "+t.key())
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept-Encoding", "gzip")
	response, body, err := exchange(ctx, t.fetcher, request)
	if err != nil {
		if ctx.Err() != nil {
			return Found{}, ctx.Err()
		}
		return Found{}, t.hide(err)
	}
	if response.StatusCode != http.StatusOK {
		return Found{}, refusedBy(response.StatusCode)
	}
	var answer struct {
		Results []struct{ Title, URL, Content string }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return Found{}, &chat.Error{Code: chat.CodeUnavailable, Message: "the search engine gave an answer that cannot be read"}
	}
	sum := sha256.Sum256(body)
	found := Found{Page: tool.Page{URL: t.url, Status: response.StatusCode, Hash: hex.EncodeToString(sum[:])}}
	for _, r := range answer.Results {
		found.Hits = append(found.Hits, Hit{Title: r.Title, URL: r.URL, Text: r.Content})
	}
	return found, nil
}

// hide makes an error of a text without the key, no matter who put it there.
func (t Tavily) hide(err error) error {
	text := err.Error()
	if e, ok := errors.AsType[*chat.Error](err); ok {
		text = e.Message
	}
	if key := t.key(); key != "" {
		text = strings.ReplaceAll(text, key, "[key]")
	}
	return &chat.Error{Code: chat.CodeUnavailable, Message: "the search engine cannot be asked: " + text}
}

// refusedBy says what a status means, and leaves out the body, which may quote the request.
func refusedBy(status int) error {
	hint := "search later, or go on without"
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		hint = "its key is not accepted: tell the person you work for"
	case http.StatusTooManyRequests, 432, 433: // 432 and 433 are Tavily's own, for a plan that is used up
		hint = "its limit is used up: search later, or go on without"
	}
	return &chat.Error{Code: chat.CodeUnavailable, Message: fmt.Sprintf("the search engine answered %d: %s", status, hint)}
}
