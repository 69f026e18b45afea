package sqlite

import (
	"bytes"
	"strings"
	"testing"
)

func TestRowsHaveAtMost32767Values(t *testing.T) {
	for n, want := range map[int]string{32767: "", 32768: "more than 32767 values", 1 << 20: "more than 32767 values"} {
		length := n + 3 // of the head, in three bytes
		raw := append([]byte{0x80 | byte(length>>14), 0x80 | byte(length>>7), byte(length) & 0x7f}, bytes.Repeat([]byte{8}, n)...)
		values, fault := record(raw)
		if want == "" && (fault != "" || len(values) != n) || !strings.Contains(fault, want) {
			t.Errorf("%d values: %d were read, %q", n, len(values), fault)
		}
	}
}
