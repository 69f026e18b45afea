package delivery

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"testing"
	"testing/synctest"

	"postern/internal/nightly"
	"postern/store"
)

// TestDamagedRecordsCostOnlyThemselves: with any row of this package damaged, the readable
// deliveries are where they belong, continue, and keep their order. Deliveries behind a lost
// one do not wait forever.
func TestDamagedRecordsCostOnlyThemselves(t *testing.T) {
	if testing.Short() {
		t.Skip("damages every record")
	}
	for seed := range nightly.Or[uint64](1, 3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newModel(t, 1000+seed)
				m.damaged = true
				for range 4 {
					m.run(40)
					m.damage()
					m.check()
				}
				m.run(40)
			})
		})
	}
}

// damage closes the file, damages some rows of each bucket, and opens it again.
func (m *model) damage() {
	m.t.Helper()
	var patterns [][]byte
	m.view(func(tx *store.Tx) error {
		for _, bucket := range []string{records, events, positions, newest, dues, heads, lines, expiries, backlogs, holds} {
			err := tx.Scan(bucket, store.Range{}, func(k, v []byte) (bool, error) {
				if m.rng.IntN(12) == 0 {
					patterns = append(patterns, sealed(k, v))
					m.lose(bucket, k)
				}
				return true, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err := m.s.Close(); err != nil {
		m.t.Fatal(err)
	}
	spoil(m.t, m.path, patterns)
	m.open()
	for _, bucket := range []string{dues, heads, lines, backlogs, positions, expiries} {
		if m.s.Damaged(bucket) {
			m.t.Errorf("%s is still damaged", bucket)
		}
	}
}

// lose removes the delivery of a damaged row from the model.
func (m *model) lose(bucket string, key []byte) {
	switch bucket {
	case records:
		delete(m.records, binary.BigEndian.Uint64(key))
	case events:
		delete(m.events, binary.BigEndian.Uint64(key))
	}
}

// sealed is a row as it is stored in the file.
func sealed(key, value []byte) []byte {
	table := crc32.MakeTable(crc32.Castagnoli)
	raw := binary.BigEndian.AppendUint32(bytes.Clone(key), crc32.Update(crc32.Checksum(key, table), table, value))
	return append(raw, value...)
}

// spoil flips bits of the checksums of rows, too many to be corrected.
func spoil(t testing.TB, path string, rows [][]byte) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		keyed := len(row) - 4
		found := 0
		for at := 0; ; found++ {
			i := bytes.Index(raw[at:], row)
			if i < 0 {
				break
			}
			raw[at+i+keyed] ^= 0x5a
			at += i + len(row)
		}
		if found == 0 {
			t.Fatalf("row %x is not in the file", row)
		}
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}
