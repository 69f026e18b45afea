package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/store/schema"
)

// keeper makes a file with a hundred records and finds some of them by their bytes, to
// damage them.
func keeper(t *testing.T) (path string, image []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	err := s.Update(t.Context(), func(tx *Tx) error {
		for i := range 1000 {
			if err := tx.Put("thing", fmt.Appendf(nil, "key-%04d", i), fmt.Appendf(nil, "value-%04d of some length", i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = s.Close()
	}
	if err == nil {
		image, err = os.ReadFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path, image
}

// flip flips a bit at every place in the image where text occurs, including stale copies
// of pages.
func flip(t *testing.T, image []byte, text string, offset, bit int) []byte {
	t.Helper()
	broken := bytes.Clone(image)
	found := 0
	for at := 0; ; found++ {
		i := bytes.Index(image[at:], []byte(text))
		if i < 0 {
			break
		}
		at += i
		broken[at+offset] ^= 1 << bit
		at++
	}
	if found == 0 {
		t.Fatalf("%q is not in the file", text)
	}
	return broken
}

func TestDamagedRecordIsSetAside(t *testing.T) {
	path, image := keeper(t)
	if err := os.WriteFile(path, flip(t, image, "value-0500", 3, 5), 0o600); err != nil {
		t.Fatal(err)
	}
	for start := range 2 {
		var log bytes.Buffer
		s := openTest(t, path, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		if got := s.Stats().SetAside; got != 1 {
			t.Errorf("start %d: %d records are set aside", start, got)
		}
		if got := strings.Count(log.String(), fmt.Sprintf("record=thing/%x", "key-0500")); got != 1 {
			t.Errorf("start %d: the log names the record %d times:\n%s", start, got, &log)
		}
		err := s.View(func(tx *Tx) error {
			if _, err := tx.Get("thing", []byte("key-0500")); !errors.Is(err, ErrDamaged) {
				t.Errorf("start %d: the damaged record: %v", start, err)
			}
			if raw, err := tx.Get(schema.Damaged.Name, asideKey("thing", []byte("key-0500"))); err != nil || !bytes.Contains(raw, []byte("0500 of some length")) {
				t.Errorf("start %d: set aside was %q, %v", start, raw, err)
			}
			for i := range 1000 {
				if i == 500 {
					continue
				}
				if v, err := tx.Get("thing", fmt.Appendf(nil, "key-%04d", i)); err != nil || string(v) != fmt.Sprintf("value-%04d of some length", i) {
					t.Errorf("start %d, record %d: %q, %v", start, i, v, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := openTest(t, path)
	put(t, s, "key-0500", "anew")
	if got := s.Stats().SetAside; got != 0 {
		t.Errorf("%d records are set aside after it was written anew", got)
	}
	_ = s.Close()
	s = openTest(t, path)
	if rows, err := s.Rows(schema.Damaged.Name); rows != 0 || err != nil {
		t.Errorf("%d copies are left, %v", rows, err)
	}
}

func TestFlippedBitOfKeyOrChecksumIsRepaired(t *testing.T) {
	path, image := keeper(t)
	sum := string(schema.Seal([]byte("key-0500"), []byte("value-0500 of some length"))[:schema.ChecksumSize])
	cases := map[string][]byte{}
	for _, bit := range []int{0, 3, 7} { // in order and out of order
		for _, key := range []string{"key-0500", "key-0000", "key-0999"} {
			for _, offset := range []int{0, 7} {
				cases[fmt.Sprintf("bit %d of byte %d of %s", bit, offset, key)] = flip(t, image, key, offset, bit)
			}
		}
		cases[fmt.Sprintf("bit %d of a checksum", bit)] = flip(t, image, sum+"value-0500", 2, bit)
	}
	for name, broken := range cases {
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		s, err := Open(Options{Path: path, Buckets: declared, NoSync: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		n := 0
		err = s.View(func(tx *Tx) error {
			return tx.Scan("thing", Range{}, func(k, v []byte) (bool, error) {
				if want := fmt.Sprintf("key-%04d=value-%04d of some length", n, n); string(k)+"="+string(v) != want {
					t.Errorf("%s: %s=%s, want %s", name, k, v, want)
				}
				n++
				return true, nil
			})
		})
		if err != nil || n != 1000 || s.Stats().SetAside != 0 || !strings.Contains(log.String(), "put right") {
			t.Errorf("%s: %d records, %v; %d set aside; %s", name, n, err, s.Stats().SetAside, &log)
		}
		_ = s.Close()
	}
}

func TestForeignRecordIsDamaged(t *testing.T) {
	var log bytes.Buffer
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"), func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	put(t, s, "a", `{"name":`)
	for range 2 {
		err := s.View(func(tx *Tx) error {
			_, _, err := GetJSON[struct{ Name string }](tx, "thing", []byte("a"))
			return err
		})
		var syntax *json.SyntaxError
		if !errors.Is(err, ErrDamaged) || !errors.As(err, &syntax) {
			t.Errorf("got %v", err)
		}
	}
	if got := s.Stats(); got.Damaged != 2 || got.SetAside != 1 || strings.Count(log.String(), "record=thing/61") != 1 {
		t.Errorf("%+v\n%s", got, &log)
	}
}

// TestDamagedOwnerCounterRepeatsNoNumber, nor does a due row without its batch
// keep an event from being delivered.
