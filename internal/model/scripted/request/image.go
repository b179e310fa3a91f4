package request

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

// imageTypes are the kinds of images that providers look at.
var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// checkSource returns the fault of an image's source, for the Messages API.
func checkSource(raw json.RawMessage) string {
	var source struct {
		Type, Data string
		MediaType  string `json:"media_type"`
	}
	switch {
	case len(raw) == 0 || json.Unmarshal(raw, &source) != nil:
		return ".source: Field required"
	case source.Type != "base64":
		return "" // elsewhere: nobody here looks
	case !slices.Contains(imageTypes, source.MediaType):
		return ".source.base64.media_type: Input should be '" + strings.Join(imageTypes, "', '") + "'"
	case !base64Text(source.Data):
		return ".source.base64.data: invalid base64 data"
	}
	return ""
}

// checkImageURL returns the fault of an image's URL, for Chat Completions.
func checkImageURL(raw json.RawMessage) string {
	var image struct{ URL string }
	if len(raw) == 0 || json.Unmarshal(raw, &image) != nil || image.URL == "" {
		return "Missing required parameter: 'image_url.url'."
	}
	kind, data, inline := strings.Cut(strings.TrimPrefix(image.URL, "data:"), ";base64,")
	if !strings.HasPrefix(image.URL, "data:") {
		return ""
	}
	if !inline || !slices.Contains(imageTypes, kind) || !base64Text(data) {
		return "Invalid 'image_url'. Expected a base64-encoded data URL with an image MIME type."
	}
	return ""
}

func base64Text(data string) bool {
	_, err := base64.StdEncoding.DecodeString(data)
	return err == nil && data != ""
}

// picture is the picture of a block, if it came with the block.
func (b block) picture() []string {
	data := ""
	switch b.Type {
	case "image":
		var source struct{ Data string }
		if json.Unmarshal(b.Source, &source) == nil {
			data = source.Data
		}
	case "image_url":
		var image struct{ URL string }
		if json.Unmarshal(b.ImageURL, &image) == nil {
			_, data, _ = strings.Cut(image.URL, ";base64,")
		}
	}
	bytes, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(bytes) == 0 {
		return nil
	}
	return []string{string(bytes)}
}
