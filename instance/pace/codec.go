package pace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// chunk is the number of departures per record: each is written together with the earlier
// ones of its chunk.
const chunk = 64

// tail is the maximum number of departures in the head, in the form of a chunk, before
// they move to chunks. Heads are so small that those of several instances share a page
// which every commit writes anyway.
const tail = 8

// head is the record of which departures exist, numbered from 0. The newest follow it.
type head struct {
	first   uint64 // the oldest kept
	end     uint64 // after the newest
	granted uint64 // those from end up to here may have left without a record
}

// encode encodes a head with the newest departures, those before h.end.
func (h head) encode(now moment, newest []departure) []byte {
	raw := binary.AppendUvarint(nil, h.first)
	raw = binary.AppendUvarint(raw, h.end)
	raw = binary.AppendUvarint(raw, h.granted)
	return append(raw, encodeChunk(now, h.end-uint64(len(newest)), newest)...)
}

var errMalformed = errors.New("malformed record")

// decodeHead returns the head, and the newest departures as a chunk.
func decodeHead(raw []byte) (h *head, newest []byte, err error) {
	r := reader{raw}
	h = &head{r.uvarint(), r.uvarint(), r.uvarint()}
	if r.raw == nil || h.first > h.end || h.end > h.granted || h.granted-h.first > 1<<28 {
		return nil, nil, fmt.Errorf("pace: head: %w", errMalformed)
	}
	return h, r.raw, nil
}

// encodeChunk encodes departures, the first with the given number. Times are by the wall
// clock as set at now, in milliseconds rounded up.
func encodeChunk(now moment, number uint64, all []departure) []byte {
	raw := binary.AppendUvarint(make([]byte, 0, 16+4*len(all)), number)
	base := int64(0)
	for _, d := range all {
		ms := now.wall.Add(d.at - now.awake + time.Millisecond - 1).UnixMilli()
		hasPerson := int64(0)
		if d.person != 0 {
			hasPerson = 1
		}
		raw = binary.AppendVarint(raw, (ms-base)<<1|hasPerson)
		if d.person != 0 {
			raw = binary.BigEndian.AppendUint64(raw, d.person)
		}
		base = ms
	}
	return raw
}

// noted is a departure as recorded.
type noted struct {
	ms     int64 // Unix milliseconds
	person uint64
}

func decodeChunk(raw []byte) (number uint64, all []noted, err error) {
	r := reader{raw}
	number = r.uvarint()
	ms := int64(0)
	for len(r.raw) > 0 && len(all) <= chunk {
		v := r.varint()
		ms += v >> 1
		n := noted{ms: ms}
		if v&1 == 1 {
			n.person = r.uint64()
		}
		all = append(all, n)
	}
	if r.raw == nil || len(all) > chunk {
		return 0, nil, fmt.Errorf("pace: departures: %w", errMalformed)
	}
	return number, all, nil
}

// reader consumes bytes; they are nil once some were missing.
type reader struct{ raw []byte }

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.raw)
	r.skip(n)
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.raw)
	r.skip(n)
	return v
}

func (r *reader) uint64() (v uint64) {
	if len(r.raw) >= 8 {
		v = binary.BigEndian.Uint64(r.raw)
		r.skip(8)
		return v
	}
	r.raw = nil
	return 0
}

func (r *reader) skip(n int) {
	if n <= 0 {
		r.raw = nil
		return
	}
	r.raw = r.raw[n:]
}
