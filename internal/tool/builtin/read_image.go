package builtin

import (
	"bytes"
	"context"
	_ "embed" // descriptions
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"

	"golang.org/x/image/webp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

//go:embed read_image.md
var readImageText string

type readImage struct{ w *Workspace }

const (
	// imageBytes is the largest image that providers accept: 5 MB, of which base64 takes a quarter.
	imageBytes = 5_000_000 / 4 * 3
	// imageSide and imagePixels bound what has to be unpacked to look at it.
	imageSide   = 8000
	imagePixels = 40_000_000
)

func (readImage) Definition() tool.Definition {
	return tool.Definition{
		Name: "read_image", Aliases: []string{"view_image"}, Description: readImageText,
		Class: chat.ClassPure, Timeout: readTimeout,
		Synonyms: map[string]string{"file_path": "path"},
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "minLength": 1, "description": "The image, relative to the workspace."}
			},
			"required": ["path"],
			"additionalProperties": false
		}`),
	}
}

func (t readImage) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	var args struct{ Path string }
	if err := call.Decode(&args); err != nil {
		return tool.Result{}, err
	}
	name, err := t.w.resolve(args.Path)
	if err != nil {
		return tool.Result{}, err
	}
	f, err := open(t.w.root, name)
	if err != nil {
		return tool.Result{}, t.w.explain(name, err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return tool.Result{}, t.w.explain(name, err)
	}
	if info.Size() > imageBytes {
		return tool.Result{}, tool.Refuse("%s has %d bytes, more than the %d that a model is shown", show(name), info.Size(), imageBytes)
	}
	var picture tool.Image
	fact, err := read(ctx, f, func(data []byte) bool {
		picture = tool.Image{Type: http.DetectContentType(data), Data: data}
		return true
	})
	if err != nil {
		return tool.Result{}, err
	}
	size, err := dimensions(picture)
	if err != nil {
		return tool.Result{}, tool.Refuse("%s cannot be shown: %v", show(name), err)
	}
	fact.Path = name
	return tool.Result{
		Text:   fmt.Sprintf("%s is %s, %d by %d pixels, %d bytes.\n", show(name), picture.Type, size.Width, size.Height, fact.Bytes),
		Facts:  tool.Facts{Read: []tool.File{fact}},
		Images: []tool.Image{picture},
	}, nil
}

// format is a kind of image: how its head is read, and how a whole one ends.
type format struct {
	head func(io.Reader) (image.Config, error)
	ends func(data []byte) bool
}

// formats are the images that every provider takes.
var formats = map[string]format{
	"image/png":  {png.DecodeConfig, func(data []byte) bool { return bytes.Contains(tail(data), []byte("IEND")) }},
	"image/jpeg": {jpeg.DecodeConfig, func(data []byte) bool { return bytes.Contains(tail(data), []byte{0xFF, 0xD9}) }},
	"image/gif":  {gif.DecodeConfig, func(data []byte) bool { return bytes.IndexByte(tail(data), 0x3B) >= 0 }},
	"image/webp": {webp.DecodeConfig, wholeRIFF},
}

// dimensions reads the head of an image and checks that the image is complete. The pixels stay
// packed: a provider that cannot unpack them says so.
func dimensions(p tool.Image) (image.Config, error) {
	known, ok := formats[p.Type]
	if !ok {
		return image.Config{}, fmt.Errorf("it is %s; known are PNG, JPEG, GIF and WebP", p.Type)
	}
	size, err := known.head(bytes.NewReader(p.Data))
	switch {
	case err != nil:
		return size, fmt.Errorf("it is a broken %s: %w", p.Type, err)
	case size.Width < 1 || size.Height < 1:
		return size, errors.New("it has no pixels")
	case size.Width > imageSide || size.Height > imageSide || size.Width*size.Height > imagePixels:
		return size, fmt.Errorf("it has %d by %d pixels, more than %d on a side or %d in all", size.Width, size.Height, imageSide, imagePixels)
	case !known.ends(p.Data):
		return size, errors.New("it is cut off before its end")
	}
	return size, nil
}

// tail is the part of an image that must contain its end mark, with room for bytes that programs
// write after it.
func tail(data []byte) []byte { return data[max(0, len(data)-1024):] }

// wholeRIFF compares the length that a RIFF file gives with its own.
func wholeRIFF(data []byte) bool {
	const head = 8
	if len(data) < head {
		return false
	}
	size := int(data[4]) | int(data[5])<<8 | int(data[6])<<16 | int(data[7])<<24
	return len(data) >= head+size
}
