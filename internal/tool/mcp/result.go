package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/retinue-dev/retinue/internal/tool"
)

const (
	// longestText is how many bytes of a result are read at all; the text for a model is capped
	// later.
	longestText = 1 << 20
	// mostImages and largestImage bound the pictures that models see.
	mostImages   = 4
	largestImage = 3_750_000
)

var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// resultOf puts what a server gave into words and pictures. An error of the tool is one here too.
func resultOf(given *sdk.CallToolResult, hide *strings.Replacer) (tool.Result, error) {
	if given.NeedsInput() {
		return tool.Result{}, tool.Refuse("the tool wants to ask a person something in the middle of a call, which is not possible here")
	}
	var out tool.Result
	var text strings.Builder
	add := func(part string) {
		if part != "" && text.Len() < longestText {
			text.WriteString(cut(part, longestText-text.Len()))
			text.WriteByte('\n')
		}
	}
	for _, content := range given.Content {
		switch c := content.(type) {
		case *sdk.TextContent:
			add(c.Text)
		case *sdk.ImageContent:
			if !slices.Contains(imageTypes, c.MIMEType) || len(c.Data) > largestImage || len(out.Images) == mostImages {
				add(fmt.Sprintf("[a picture of type %q and %d bytes is left out]", cut(c.MIMEType, 60), len(c.Data)))
				continue
			}
			out.Images = append(out.Images, tool.Image{Type: c.MIMEType, Data: c.Data})
		case *sdk.AudioContent:
			add(fmt.Sprintf("[a sound of type %q and %d bytes is left out]", cut(c.MIMEType, 60), len(c.Data)))
		case *sdk.ResourceLink:
			add(fmt.Sprintf("[%s: %s] %s", c.Name, c.URI, c.Description))
		case *sdk.EmbeddedResource:
			add(embedded(c.Resource))
		}
	}
	if strings.TrimSpace(text.String()) == "" && given.StructuredContent != nil {
		data, err := json.Marshal(given.StructuredContent)
		if err != nil {
			return tool.Result{}, fmt.Errorf("read the structured result: %w", err)
		}
		add(string(data))
	}
	out.Text = hide.Replace(strings.TrimSuffix(text.String(), "\n"))
	if given.IsError {
		if out.Text == "" {
			out.Text = "the tool failed and does not say why"
		}
		return tool.Result{}, tool.Refuse("%s", out.Text)
	}
	if out.Text == "" && len(out.Images) > 0 {
		out.Text = "(see the picture)"
	}
	return out, nil
}

// embedded is a resource as text.
func embedded(r *sdk.ResourceContents) string {
	switch {
	case r == nil:
		return ""
	case r.Text != "":
		return fmt.Sprintf("[%s]\n%s", r.URI, r.Text)
	}
	return fmt.Sprintf("[%s: %d bytes of type %q are left out]", r.URI, len(r.Blob), cut(r.MIMEType, 60))
}
