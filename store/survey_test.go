package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"postern/store/schema"
	"postern/store/survey"
)

// other is a second bucket, so that one can be missing.
var other = schema.Bucket{Name: "other", Owner: "test", Key: "any", Value: "any"}

func withOther(o *Options) { o.Buckets = []schema.Bucket{thing, entry, other} }

// filled makes a file with records and numbers, closed in order, and lets change modify
// it as no Postern does.
func filled(t *testing.T, change func(tx *bolt.Tx) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path, withOther)
	for _, k := range []string{"a", "b", "c"} {
		put(t, s, k, "1")
	}
	put(t, s, "a", "2")
	err := s.Update(t.Context(), func(tx *Tx) error {
		_, err := tx.NextID("other")
		return errors.Join(err, tx.Put("other", Key(uint64(1)), []byte("first")), tx.Delete("thing", []byte("c")))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := openBolt(path, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(change), db.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFileWithForeignBucketsIsRefused(t *testing.T) {
	sealed := func(key, value string) []byte { return schema.Seal([]byte(key), []byte(value)) }
	for name, c := range map[string]struct {
		change func(tx *bolt.Tx) error
		want   error
		says   string
	}{
		"nothing changed":       {func(*bolt.Tx) error { return nil }, nil, ""},
		"a missing bucket":      {func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte("other")) }, ErrCorrupt, "bucket other is missing, with 1 record"},
		"an unknown bucket":     {func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("othes")); return err }, ErrCorrupt, `"othes"`},
		"a number given again":  {func(tx *bolt.Tx) error { return tx.Bucket([]byte("other")).SetSequence(0) }, ErrCorrupt, "bucket other says that the last number it gave is 0; it was 1"},
		"a number far away":     {func(tx *bolt.Tx) error { return tx.Bucket([]byte("other")).SetSequence(1 << 62) }, ErrCorrupt, "bucket other"},
		"a record that is gone": {func(tx *bolt.Tx) error { return tx.Bucket([]byte("thing")).Delete([]byte("a")) }, ErrCorrupt, "bucket thing has 1 record of 2"},
		"a record of before":    {func(tx *bolt.Tx) error { return tx.Bucket([]byte("thing")).Put([]byte("a"), sealed("a", "1")) }, ErrCorrupt, "bucket thing has 2 records, not all in their newest state"},
		"an empty bucket": {func(tx *bolt.Tx) error {
			if err := tx.DeleteBucket([]byte("thing")); err != nil {
				return err
			}
			_, err := tx.CreateBucket([]byte("thing"))
			return err
		}, ErrCorrupt, "bucket thing has 0 records of 2"},
		"no meta": {func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte("meta")) }, ErrCorrupt, "meta"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filled(t, c.change)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Open(Options{Path: path, Buckets: []schema.Bucket{thing, entry, other}, NoSync: true})
			if !errors.Is(err, c.want) || err != nil && (!strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path)) {
				t.Errorf("Open: %v", err)
			}
			if err == nil {
				_ = s.Close()
				return
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the refused file was changed")
			}
		})
	}
}

func TestOnlyReleasesWithItsBucketsOpenAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	put(t, s, "a", "1")
	_ = s.Close()
	s = openTest(t, path, withOther)
	if err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put("other", []byte("k"), nil) }); err != nil {
		t.Fatal(err)
	}
	if got := get(t, s, "a"); got != "1" {
		t.Errorf("a = %q", got)
	}
	_ = s.Close()
	if _, err := Open(Options{Path: path, Buckets: declared}); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "other") {
		t.Errorf("opened by a release that does not know the bucket: %v", err)
	}
}

// TestFileOpenedByNewerProgramIsRefused, although its schema is
// the same: it has one bucket more.
func TestFileOpenedByNewerProgramIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	for _, program := range []string{"v1.4.0", ""} { // a command that does not say keeps it
		if err := openTest(t, path, withOther, func(o *Options) { o.Program = program }).Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Open(Options{Path: path, Buckets: declared, Program: "v1.3.0"})
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), `(of "v1.4.0", it has the bucket other, which this release does not know); this is v1.3.0`) {
		t.Error(err)
	}
	if _, err := Inspect(path, []schema.Bucket{thing, entry, other}); err != nil {
		t.Error(err)
	}
}

func TestFileWithoutTalliesIsAccepted(t *testing.T) {
	path := filled(t, func(tx *bolt.Tx) error {
		meta := tx.Bucket([]byte("meta"))
		for _, b := range []string{"thing", "other", "entry"} {
			if err := meta.Delete(survey.TallyKey(b)); err != nil {
				return err
			}
		}
		return meta.Put(survey.Version, schema.Seal(survey.Version, []byte{0, 0, 0, 1}))
	})
	for range 2 {
		s := openTest(t, path, withOther)
		if got := get(t, s, "a"); got != "2" {
			t.Errorf("a = %q", got)
		}
		put(t, s, "d", "4")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFailedClosureChangesNoTally(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	put(t, s, "a", "1")
	boom := errors.New("boom")
	for _, fn := range []func(tx *Tx) error{
		func(tx *Tx) error { return errors.Join(tx.Put("thing", []byte("b"), nil), boom) },
		func(tx *Tx) error { return errors.Join(tx.Delete("thing", []byte("a")), boom) },
		func(tx *Tx) error { _, err := tx.NextID("thing"); return errors.Join(err, boom) },
	} {
		if err := s.Update(t.Context(), fn); !errors.Is(err, boom) {
			t.Fatal(err)
		}
	}
	put(t, s, "c", "1")
	_ = s.Close()
	openTest(t, path)
}

func TestFlippedBitOfAHeadPageIsRepaired(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	put(t, s, "a", "1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for bit := 0; bit < 8*64; bit += 17 {
		for page := range 2 {
			broken := append([]byte(nil), image...)
			broken[page*os.Getpagesize()+16+bit/8] ^= 1 << (bit % 8)
			if err := os.WriteFile(path, broken, 0o600); err != nil {
				t.Fatal(err)
			}
			s := openTest(t, path)
			if got := get(t, s, "a"); got != "1" || !s.WasClean() {
				t.Fatalf("page %d, bit %d: a = %q, clean = %t", page, bit, got, s.WasClean())
			}
			_ = s.Close()
		}
	}
}
