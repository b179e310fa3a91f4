package api

import (
	"encoding/json"
	"strconv"

	"github.com/retinue-dev/retinue/internal/journal"
)

// piece is one event as it is sent. The same bytes go to all readers.
type piece struct {
	// seq is zero for what is not recorded.
	seq   int64
	bytes []byte
}

// frame is what is handed to readers at a time: recorded events in order, or one delta.
type frame struct {
	// agent is whose delta it is; empty for what is recorded.
	agent  string
	pieces []piece
	size   int
}

// frameSize is how large a frame of several events may be.
const frameSize = 64 << 10

// sent writes an event as a stream does. An empty id leaves the reader where it is.
func sent(id string, name EventType, data any) ([]byte, error) {
	body, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(body)+len(id)+len(name)+32)
	if id != "" {
		out = append(append(append(out, "id: "...), id...), '\n')
	}
	out = append(append(append(out, "event: "...), name...), "\ndata: "...)
	return append(append(out, body...), "\n\n"...), nil
}

// recorded is an event as it is sent.
func recorded(e Event) (piece, error) {
	bytes, err := sent(strconv.FormatInt(e.Seq, 10), e.Type, e)
	return piece{seq: e.Seq, bytes: bytes}, err
}

// framesOf are the frames of entries.
func framesOf(conversation string, entries []journal.Entry) ([]*frame, error) {
	var out []*frame
	for _, entry := range entries {
		e, ok := eventOf(conversation, entry)
		if !ok {
			continue
		}
		p, err := recorded(e)
		if err != nil {
			return nil, err
		}
		if len(out) == 0 || out[len(out)-1].size+len(p.bytes) > frameSize {
			out = append(out, &frame{})
		}
		last := out[len(out)-1]
		last.pieces, last.size = append(last.pieces, p), last.size+len(p.bytes)
	}
	return out, nil
}

// after appends to chunks what a reader has not seen that has seen so much.
func (f *frame) after(seq int64, chunks [][]byte) [][]byte {
	for _, p := range f.pieces {
		if p.seq == 0 || p.seq > seq {
			chunks = append(chunks, p.bytes)
		}
	}
	return chunks
}

// last is how far a frame goes; zero for what is not recorded.
func (f *frame) last() int64 { return f.pieces[len(f.pieces)-1].seq }
