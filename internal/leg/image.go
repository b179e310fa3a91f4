package leg

import (
	"context"
	"slices"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
)

// The most that a request shows: providers bound the number of images and the size of a request.
// The newest are shown.
const (
	shownImages     = 20
	shownImageBytes = 12 << 20
)

// faded replaces an image that is no longer shown.
const faded = "[The image is not shown any more: there are newer ones. Look at it again if you need it.]"

// illustrate loads the images of a transcript. Those beyond the limit are replaced by a note.
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
	img, err := l.Image(ctx, l.in.Ref, hash)
	if err != nil {
		return model.Image{}, err
	}
	if l.images == nil {
		l.images = map[string]model.Image{}
	}
	l.images[hash] = img
	return img, nil
}
