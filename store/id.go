package store

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"postern/store/pages"
	"postern/store/schema"
	"postern/store/survey"
)

var metaID = []byte("id")

// ID returns the identity of this data file: 32 hexadecimal digits, drawn when a program
// first opens it. Everything made of the file has the same ID: a copy, a backup, and the
// result of a compaction, a repair or a restore.
func (s *Store) ID() string { return s.id }

// identified returns the ID of a surveyed file. If it has none, identified draws and
// writes one.
func identified(tx *bolt.Tx, found *survey.Survey) (string, error) {
	if id := found.Meta[string(metaID)]; len(id) > 0 {
		return string(id), nil
	}
	id := newFileID()
	return id, tx.Bucket([]byte(schema.Meta.Name)).Put(metaID, schema.Seal(metaID, []byte(id)))
}

// newFileID draws the ID of a new data file.
func newFileID() string {
	var drawn [16]byte
	rand.Read(drawn[:])
	return hex.EncodeToString(drawn[:])
}

// FileID returns the ID of the file at path, which no program has open; empty if it has
// none yet. Errors are those of [Check].
func FileID(path string) (string, error) {
	s, err := surveyMeta(path)
	if err != nil {
		return "", err
	}
	return string(s.Meta[string(metaID)]), nil
}

// FileMark returns what the file at path, which no program has open, says about its cell; is
// is false if it was never a copy. Errors are those of [Check].
func FileMark(path string) (m CellMark, is bool, err error) {
	s, err := surveyMeta(path)
	if err != nil {
		return m, false, err
	}
	return markOf(s)
}

// surveyMeta reads the records of meta.
func surveyMeta(path string) (*survey.Survey, error) {
	f, err := lockShared(path)
	if err != nil {
		return nil, fmt.Errorf("look into %s: %w", path, explain(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file, err := pages.Open(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("look into %s: %w", path, explain(err))
	}
	s, err := survey.Of(file, func(bucket string) bool { return bucket != schema.Meta.Name })
	if err != nil {
		return nil, fmt.Errorf("look into %s: %w", path, explain(err))
	}
	return s, nil
}
