package pace

import (
	"testing"
	"time"
)

// FuzzRecords: reading any bytes of a file terminates, and what was read is encoded to the same
// bytes.
func FuzzRecords(f *testing.F) {
	now := moment{time.UnixMilli(1_800_000_000_000), time.Hour}
	f.Add(head{3, 70, 72}.encode(now, []departure{{time.Minute, 0}, {2 * time.Minute, 7}}))
	f.Add(encodeChunk(now, 64, []departure{{time.Minute, 0}, {2 * time.Minute, 7}, {2 * time.Minute, somebody}}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if h, _, err := decodeHead(raw); err == nil {
			if again, _, err := decodeHead(h.encode(now, nil)); err != nil || *again != *h {
				t.Errorf("%v became %v, %v", h, again, err)
			}
		}
		if _, all, err := decodeChunk(raw); err == nil && len(all) > chunk {
			t.Errorf("%d departures in a chunk", len(all))
		}
	})
}

func TestAChunkIsReadAsItWasWritten(t *testing.T) {
	now := moment{time.UnixMilli(1_800_000_000_000), time.Hour}
	all := []departure{{-time.Minute, 0}, {time.Minute, 7}, {time.Minute + time.Millisecond/2, somebody + 9}}
	number, got, err := decodeChunk(encodeChunk(now, 130, all))
	if err != nil || number != 130 || len(got) != len(all) {
		t.Fatal(number, got, err)
	}
	for i, d := range all {
		at := now.wall.Add(d.at - now.awake)
		if late := time.UnixMilli(got[i].ms).Sub(at); late < 0 || late >= time.Millisecond || got[i].person != d.person {
			t.Errorf("%d: %v became %v, %s later", i, d, got[i], late)
		}
	}
	raw := encodeChunk(now, 130, all)
	for cut := range raw {
		if _, got, err := decodeChunk(raw[:cut]); err == nil && len(got) >= len(all) {
			t.Errorf("cut at %d: %v", cut, got)
		}
	}
}
