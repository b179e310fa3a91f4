package leg

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/tool"
)

// What a request shows at most: providers bound the number of images and the size of a request. The
// newest are shown.
const (
	shownImages     = 20
	shownImageBytes = 12 << 20
)

// faded stands for an image that is not shown any more.
const faded = "[The image is not shown any more: there are newer ones. Look at it again if you need it.]"

// The parts of a data URL, which is how an image is kept.
const (
	dataScheme = "data:"
	dataBase64 = ";base64,"
)

// keepImages stores images and returns their hashes. They are not remembered here: a few would be more
// than all texts.
func (h *Host) keepImages(ctx context.Context, place journal.Place, images []tool.Image) ([]string, error) {
	var hashes, texts []string
	for _, img := range images {
		text := dataScheme + img.Type + dataBase64 + base64.StdEncoding.EncodeToString(img.Data)
		texts, hashes = append(texts, text), append(hashes, journal.HashOf(text))
	}
	if len(texts) == 0 {
		return nil, nil
	}
	if err := h.Log.Keep(ctx, place, texts...); err != nil {
		return nil, err
	}
	return hashes, nil
}

// illustrate finds what the images of a transcript refer to. Of those that are too many a note is left.
func (l *leg) illustrate(ctx context.Context, t chat.Transcript) (chat.Transcript, map[string]model.Image, error) {
	shown, size, full := map[string]model.Image{}, 0, false
	for _, msg := range slices.Backward(t) {
		for _, p := range slices.Backward(msg.Parts) {
			if _, known := shown[p.Image]; p.Kind != chat.PartImage || known || full {
				continue
			}
			img, err := l.image(ctx, p.Image)
			if err != nil {
				return nil, nil, err
			}
			size += len(img.Data)
			if full = len(shown) == shownImages || size > shownImageBytes; !full {
				shown[p.Image] = img
			}
		}
	}
	if len(shown) == 0 {
		return t, nil, nil
	}
	return t.Hide(faded, func(hash string) bool { return len(shown[hash].Data) == 0 }), shown, nil
}

// image reads a kept image, once in a leg.
func (l *leg) image(ctx context.Context, hash string) (model.Image, error) {
	if img, ok := l.images[hash]; ok {
		return img, nil
	}
	text, err := l.Log.Text(ctx, l.in.Place, hash)
	if err != nil {
		return model.Image{}, fmt.Errorf("read image %s: %w", hash, err)
	}
	kind, data, ok := strings.Cut(strings.TrimPrefix(text, dataScheme), dataBase64)
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || !ok {
		return model.Image{}, &chat.Error{Code: chat.CodeInvalid, Message: "image " + hash + " is kept in a form that is not known"}
	}
	if l.images == nil {
		l.images = map[string]model.Image{}
	}
	l.images[hash] = model.Image{MediaType: kind, Data: raw}
	return l.images[hash], nil
}
