package store

import (
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// Keys of the meta bucket.
var (
	metaApplication = []byte("application")
	metaVersion     = []byte("schema")
	metaClean       = []byte("clean")
)

// initialise writes what makes an empty bbolt file ours.
func initialise(tx *bolt.Tx, sch schema) error {
	for _, b := range sch.sorted() {
		if _, err := tx.CreateBucketIfNotExists([]byte(b.Name)); err != nil {
			return fmt.Errorf("create bucket %s: %w", b.Name, err)
		}
	}
	meta := tx.Bucket([]byte(metaBucket.Name))
	version := binary.BigEndian.AppendUint32(nil, schemaVersion)
	for _, kv := range [][2][]byte{{metaApplication, []byte(application)}, {metaVersion, version}, {metaClean, {1}}} {
		if err := meta.Put(kv[0], seal(kv[0], kv[1])); err != nil {
			return err
		}
	}
	return nil
}

// prepare checks that an opened file is ours and of a known version, creates
// the buckets that it lacks, and takes away the mark of an orderly shutdown,
// whose former value it returns.
func prepare(db *bolt.DB, sch schema) (clean bool, err error) {
	err = db.Update(func(tx *bolt.Tx) error {
		meta := tx.Bucket([]byte(metaBucket.Name))
		if meta == nil {
			return ErrForeign
		}
		if app, ok := verify(metaApplication, meta.Get(metaApplication)); !ok || string(app) != application {
			return ErrForeign
		}
		version, ok := verify(metaVersion, meta.Get(metaVersion))
		if !ok || len(version) != 4 {
			return ErrCorrupt
		}
		if v := binary.BigEndian.Uint32(version); v > schemaVersion {
			return fmt.Errorf("%w (schema %d, this release knows %d)", ErrNewer, v, schemaVersion)
		}
		mark, ok := verify(metaClean, meta.Get(metaClean))
		clean = ok && len(mark) == 1 && mark[0] == 1
		if err := initialise(tx, sch); err != nil {
			return err
		}
		return setClean(tx, false)
	})
	if err != nil {
		return false, explain(err)
	}
	return clean, nil
}

func markClean(db *bolt.DB, clean bool) error {
	return db.Update(func(tx *bolt.Tx) error { return setClean(tx, clean) })
}

func setClean(tx *bolt.Tx, clean bool) error {
	value := []byte{0}
	if clean {
		value[0] = 1
	}
	return tx.Bucket([]byte(metaBucket.Name)).Put(metaClean, seal(metaClean, value))
}
