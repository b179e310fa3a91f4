package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Providers take ids of calls up to this length, of letters, digits, _ and - only.
const maxWireID = 40

// WireID is a call's id as it travels: 3.0 becomes call_3_2e0. Different ids stay different and the
// same id is always the same, so that a provider's cache of prefixes holds.
func WireID(call string) string {
	var b strings.Builder
	b.WriteString("call_")
	for i := range len(call) {
		switch c := call[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	if b.Len() <= maxWireID {
		return b.String()
	}
	sum := sha256.Sum256([]byte(call))
	return ("hash_" + hex.EncodeToString(sum[:]))[:maxWireID]
}

// WireTool is a tool's name as it travels. Names a provider takes stay as they are. A model may
// have made up another one, and the transcript that quotes it must still be taken.
func WireTool(name string) string {
	if toolName.MatchString(name) {
		return name
	}
	legal := strings.Map(func(r rune) rune {
		if toolName.MatchString(string(r)) {
			return r
		}
		return '_'
	}, name)
	if legal == "" {
		return "unnamed"
	}
	return legal[:min(len(legal), 64)]
}
