package client

import (
	"context"
	"errors"
	"iter"
	"net/http"

	"github.com/retinue-dev/retinue/wire"
)

// Watch sends the changes of the list of conversations and of the inbox. It sends states: the last
// state of each always comes, those between may not. After Resynced, which comes first, read the
// list and the inbox anew. Watch ends like Follow.
func (c *Client) Watch(ctx context.Context) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		last := ""
		err := c.lasting(ctx, func() request {
			return request{method: http.MethodGet, path: at("events"), last: last}
		}, func(_ context.Context, in frame) error {
			e, err := wire.Parse(wire.EventType(in.name), in.data)
			if err != nil {
				return err
			}
			if in.id != "" {
				last = in.id
			}
			if !yield(e, nil) {
				return errStopped
			}
			return nil
		}, nil)
		if !errors.Is(err, errStopped) {
			yield(wire.Event{}, err)
		}
	}
}
