package host

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/tool"
)

// The parts of a data URL, which is how an image is kept.
const (
	dataScheme = "data:"
	dataBase64 = ";base64,"
)

// keepImages stores images and returns their hashes. They are not remembered here: a few would be
// more than all texts.
func (h *Host) keepImages(ctx context.Context, ref journal.Ref, images []tool.Image) ([]string, error) {
	var hashes, texts []string
	for _, img := range images {
		text := dataScheme + img.Type + dataBase64 + base64.StdEncoding.EncodeToString(img.Data)
		texts, hashes = append(texts, text), append(hashes, journal.HashOf(text))
	}
	if len(texts) == 0 {
		return nil, nil
	}
	if err := h.Log.Keep(ctx, ref, texts...); err != nil {
		return nil, err
	}
	return hashes, nil
}

// Image reads a kept image.
func (h *Host) Image(ctx context.Context, ref journal.Ref, hash string) (model.Image, error) {
	text, err := h.Log.Text(ctx, ref, hash)
	if err != nil {
		return model.Image{}, fmt.Errorf("read image %s: %w", hash, err)
	}
	kind, data, ok := strings.Cut(strings.TrimPrefix(text, dataScheme), dataBase64)
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || !ok {
		return model.Image{}, &chat.Error{Code: chat.CodeInvalid, Message: "image " + hash + " is kept in a form that is not known"}
	}
	return model.Image{MediaType: kind, Data: raw}, nil
}
