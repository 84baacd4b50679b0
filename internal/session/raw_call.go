package session

import (
	"database/sql/driver"
	"fmt"
	"time"

	"example.com/mssqlcdc/internal/tds"
)

// sendCall writes a call of sp_executesql (2.2.6.6 RPC Request). The parameters
// have the types that the driver gives them.
func (r *rawConn) sendCall(args []driver.NamedValue) error {
	r.params = r.params[:0]
	for _, a := range args {
		p := tds.RPCParam{Name: "@" + a.Name}
		if err := setParam(&p, a.Value); err != nil {
			return err
		}
		r.params = append(r.params, p)
	}
	call := tds.RPCRequest{
		Headers: tds.AllHeaders{Transaction: *r.tranid, Outstanding: 1},
		Calls:   []tds.RPCCall{{ProcID: tds.ProcExecuteSQL, Params: r.params}},
	}
	r.body = call.Append(r.body[:0])
	return r.wr.WriteMessage(tds.PacketRPC, 0, r.body)
}

// mostBytes is the size of the largest value that is not (max).
const mostBytes = 8000

func setParam(p *tds.RPCParam, v driver.Value) error {
	size := func(n int) int {
		if n > mostBytes {
			return tds.MaxSize
		}
		return max(n, 1)
	}
	switch v := v.(type) {
	case nil:
		p.Info = tds.Fixed(tds.TypeNull)
	case int64:
		p.Info, p.Value = tds.Nullable(tds.TypeIntN, 8), tds.AppendInt(nil, v, 8)
	case bool:
		p.Info, p.Value = tds.Nullable(tds.TypeBitN, 1), []byte{0}
		if v {
			p.Value[0] = 1
		}
	case float64:
		p.Info, p.Value = tds.Nullable(tds.TypeFltN, 8), tds.AppendFloat(nil, v, 8)
	case string:
		p.Value = tds.AppendUTF16([]byte{}, v)
		p.Info = tds.CharType(tds.TypeNVarChar, max(size(len(p.Value)), 2), tds.Collation{})
	case []byte:
		p.Info, p.Value = tds.Nullable(tds.TypeBigVarBinary, size(len(v))), v
	case time.Time:
		p.Info = tds.TemporalType(tds.TypeDateTimeOffsetN, 7)
		_, offset := v.Zone()
		days, ticks := day1(v.UTC())
		p.Value = tds.AppendDateTimeOffset(nil, days, ticks, 7, int16(offset/60))
	default:
		return fmt.Errorf("querying: parameter %s is a %T", p.Name, v)
	}
	return nil
}

// day1 gives the days since 0001-01-01 and the 100 ns of the day.
func day1(t time.Time) (days int32, ticks uint64) {
	const daySeconds = 86_400
	seconds := t.Unix() + tds.UnixDay*daySeconds
	return int32(seconds / daySeconds), uint64(seconds%daySeconds)*10_000_000 + uint64(t.Nanosecond()/100)
}
