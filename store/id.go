package store

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"postern/store/pages"
)

var metaID = []byte("id")

// ID tells this data file from others: 32 hexadecimal digits, drawn when a program first
// opens it. What is made of the file has it too: a copy, a backup, what a compaction, a
// repair or a restore puts in its place.
func (s *Store) ID() string { return s.id }

// identified is the ID of a file that was surveyed, drawn and written when it has none.
func identified(tx *bolt.Tx, found *survey) (string, error) {
	if id := found.meta[string(metaID)]; len(id) > 0 {
		return string(id), nil
	}
	var drawn [16]byte
	rand.Read(drawn[:])
	id := hex.EncodeToString(drawn[:])
	return id, tx.Bucket([]byte(metaBucket.Name)).Put(metaID, seal(metaID, []byte(id)))
}

// FileID is the ID of the file at path, which no program has open; empty for one that has
// none yet. Errors are those of [Check].
func FileID(path string) (string, error) {
	f, err := lockShared(path)
	if err != nil {
		return "", fmt.Errorf("look into %s: %w", path, explain(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	file, err := pages.Open(f, info.Size())
	if err != nil {
		return "", fmt.Errorf("look into %s: %w", path, explain(err))
	}
	s, err := surveyOf(file, func(bucket string) bool { return bucket != metaBucket.Name })
	if err != nil {
		return "", fmt.Errorf("look into %s: %w", path, explain(err))
	}
	return string(s.meta[string(metaID)]), nil
}
