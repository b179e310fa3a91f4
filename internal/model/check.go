package model

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
)

// toolName is what every provider takes as the name of a tool.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Check reports why a provider would refuse the request, or nil. Adapters call it first and send
// nothing when it objects; the error is an *Error of kind invalid_request.
func (r Request) Check() error {
	if err := r.Transcript.Validate(); err != nil {
		return refuse("the transcript cannot be sent: %v", err)
	}
	for _, check := range []func(Request) error{checkSettings, checkTools, checkParts} {
		if err := check(r); err != nil {
			return err
		}
	}
	return nil
}

func checkSettings(r Request) error {
	switch {
	case r.Model == "":
		return refuse("no model is named")
	case r.Turn < 0:
		return refuse("turn %d is negative", r.Turn)
	case r.MaxOutput < 1:
		return refuse("the most tokens of a reply are not set")
	case r.Temperature != nil && !(*r.Temperature >= 0 && *r.Temperature <= 2):
		return refuse("the temperature is not between 0 and 2")
	}
	for i, in := range r.System {
		if strings.TrimSpace(in.Text) == "" {
			return refuse("instruction %d is empty", i)
		}
	}
	switch r.Effort {
	case "", EffortNone, EffortLow, EffortMedium, EffortHigh:
		return nil
	}
	return refuse("effort %q is unknown", string(r.Effort))
}

func checkTools(r Request) error {
	seen := map[string]bool{}
	for i, t := range r.Tools {
		if !toolName.MatchString(t.Name) {
			return refuse("tool %d: its name may hold up to 64 letters, digits, _ and -", i)
		}
		if seen[t.Name] {
			return refuse("tool %s occurs twice", t.Name)
		}
		seen[t.Name] = true
		if s, ok := readSchema(t.Schema); !ok || s.Type != "object" {
			return refuse("tool %s: its schema is not a JSON schema of type object", t.Name)
		}
	}
	return nil
}

// checkParts checks what chat cannot know: whether the images were loaded, and whether the reply's
// calls would be named like calls of the transcript.
func checkParts(r Request) error {
	prefix := strconv.Itoa(r.Turn) + "."
	for _, msg := range r.Transcript {
		for _, p := range msg.Parts {
			if p.Kind == chat.PartToolUse && strings.HasPrefix(p.Call, prefix) {
				return refuse("message %s already holds calls of turn %d", msg.ID, r.Turn)
			}
			if p.Kind != chat.PartImage {
				continue
			}
			img := r.Images[p.Image]
			if len(img.Data) == 0 || !strings.HasPrefix(img.MediaType, "image/") {
				return refuse("message %s: image %s is missing or of no known type", msg.ID, p.Image)
			}
		}
	}
	return nil
}

// schema is the little we read of a tool's schema.
type schema struct {
	Type     string   `json:"type"`
	Required []string `json:"required"`
}

func readSchema(raw json.RawMessage) (schema, bool) {
	var s schema
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

func refuse(format string, args ...any) error {
	return &Error{Kind: chat.KindInvalidRequest, Message: fmt.Sprintf(format, args...)}
}
