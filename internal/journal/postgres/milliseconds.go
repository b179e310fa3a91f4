package postgres

import (
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// inMilliseconds has a connection take and give times as SQLite keeps them: int64, milliseconds
// since
// 1970. Then both stores share the Go code that stands around their queries.
func inMilliseconds(conn *pgx.Conn) {
	element := &pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &milliseconds{}}
	conn.TypeMap().RegisterType(element)
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "_timestamptz", OID: pgtype.TimestamptzArrayOID, Codec: &pgtype.ArrayCodec{ElementType: element},
	})
}

// milliseconds is the codec of timestamptz, with int64 on the side of Go.
type milliseconds struct{ pgtype.TimestamptzCodec }

// Postgres counts microseconds since 2000.
const (
	microsecond = 1000
	epoch       = 946_684_800_000
)

// PlanEncode implements pgtype.Codec.
func (*milliseconds) PlanEncode(_ *pgtype.Map, _ uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.(int64); !ok || format != pgtype.BinaryFormatCode {
		return nil
	}
	return toMicroseconds{}
}

// PlanScan implements pgtype.Codec.
func (*milliseconds) PlanScan(_ *pgtype.Map, _ uint32, format int16, target any) pgtype.ScanPlan {
	if _, ok := target.(*int64); !ok || format != pgtype.BinaryFormatCode {
		return nil
	}
	return fromMicroseconds{}
}

type toMicroseconds struct{}

// Encode implements pgtype.EncodePlan.
func (toMicroseconds) Encode(value any, buf []byte) ([]byte, error) {
	at, _ := value.(int64) // PlanEncode has looked
	return binary.BigEndian.AppendUint64(buf, uint64((at-epoch)*microsecond)), nil
}

type fromMicroseconds struct{}

// Scan implements pgtype.ScanPlan.
func (fromMicroseconds) Scan(src []byte, target any) error {
	into, ok := target.(*int64)
	if !ok || len(src) != 8 {
		return fmt.Errorf("read a time of %d bytes", len(src))
	}
	at := int64(binary.BigEndian.Uint64(src))
	*into = epoch + (at-((at%microsecond)+microsecond)%microsecond)/microsecond
	return nil
}
