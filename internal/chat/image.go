package chat

import "slices"

// Hide replaces images that are not to be sent by a note. The note on an image of a result comes at
// the end of that result. The transcript itself stays as it was.
func (t Transcript) Hide(note string, hidden func(image string) bool) Transcript {
	out := slices.Clone(t)
	for i, msg := range t {
		if !slices.ContainsFunc(msg.Parts, func(p Part) bool { return p.Kind == PartImage && hidden(p.Image) }) {
			continue
		}
		parts := make([]Part, 0, len(msg.Parts))
		for _, p := range msg.Parts {
			if p.Kind != PartImage || !hidden(p.Image) {
				parts = append(parts, p)
				continue
			}
			of := slices.IndexFunc(parts, func(o Part) bool { return o.Kind == PartToolResult && o.Call == p.Call })
			if p.Call == "" || of < 0 {
				parts = append(parts, Part{Kind: PartText, Text: note})
			} else {
				parts[of].Text += "\n" + note
			}
		}
		out[i].Parts = parts
	}
	return out
}
