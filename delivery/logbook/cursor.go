package logbook

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"

	"postern/delivery/digest"
)

// place of a list: beside a record, which may be gone.
type cursor struct {
	newer bool   // the page goes to newer ones
	id    uint64 // 0: no cursor, the page begins with the newest record
}

const (
	cursorOlder = byte('o')
	cursorNewer = byte('n')
)

// way returns the direction of the page.
func (c cursor) way() digest.How {
	if c.newer {
		return 0
	}
	return digest.Reverse
}

func (c cursor) String() string {
	way := cursorOlder
	if c.newer {
		way = cursorNewer
	}
	at := binary.BigEndian.AppendUint64([]byte{way}, c.id)
	return base64.RawURLEncoding.EncodeToString(append(cursorSum(at), at...))
}

func cursorSum(at []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(append([]byte("deliveries/"), at...)))
}

func parseCursor(text string) (c cursor, err error) {
	if text == "" {
		return c, nil
	}
	const sumSize = 4
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != sumSize+9 || !bytes.Equal(raw[:sumSize], cursorSum(raw[sumSize:])) {
		return c, ErrCursor
	}
	c = cursor{newer: raw[sumSize] == cursorNewer, id: binary.BigEndian.Uint64(raw[sumSize+1:])}
	if c.String() != text || c.id == 0 || c.id >= digest.MaxID {
		return cursor{}, ErrCursor
	}
	return c, nil
}
