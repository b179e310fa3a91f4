package watch

import (
	"bytes"
	"strconv"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// piece is one event as it is sent. The same bytes go to all readers.
type piece struct {
	// seq is zero for what is not recorded.
	seq   int64
	bytes []byte
	// only is the person that it is for; empty means everybody.
	only string
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
func sent(id string, name wire.EventType, data any) ([]byte, error) {
	var out bytes.Buffer
	if id != "" {
		out.WriteString("id: " + id + "\n")
	}
	out.WriteString("event: " + string(name) + "\ndata: ")
	if err := admission.JSON.Marshal(&out, data); err != nil { // which ends the line
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// recorded is an event as it is sent.
func recorded(e wire.Event) (piece, error) {
	bytes, err := sent(strconv.FormatInt(e.Seq, 10), e.Type, e)
	return piece{seq: e.Seq, bytes: bytes}, err
}

// framesOf are the frames of entries.
func framesOf(conversation string, entries []journal.Entry) ([]*frame, error) {
	var out []*frame
	for _, entry := range entries {
		e, ok := events.Of(conversation, entry)
		if !ok {
			continue
		}
		p, err := recorded(e)
		if err != nil {
			return nil, err
		}
		out = pack(out, p)
	}
	return out, nil
}

// pack adds a piece to the last of some frames, or to a new one.
func pack(frames []*frame, p piece) []*frame {
	if len(frames) == 0 || frames[len(frames)-1].size+len(p.bytes) > frameSize {
		frames = append(frames, &frame{})
	}
	last := frames[len(frames)-1]
	last.pieces, last.size = append(last.pieces, p), last.size+len(p.bytes)
	return frames
}

// isFor reports whether a piece is for a person.
func (p piece) isFor(viewer string) bool { return p.only == "" || p.only == viewer }

// after appends to chunks what is for a reader who has seen so much.
func (f *frame) after(seq int64, viewer string, chunks [][]byte) [][]byte {
	for _, p := range f.pieces {
		if (p.seq == 0 || p.seq > seq) && p.isFor(viewer) {
			chunks = append(chunks, p.bytes)
		}
	}
	return chunks
}

// last is how far a frame goes; zero for what is not recorded.
func (f *frame) last() int64 { return f.pieces[len(f.pieces)-1].seq }
