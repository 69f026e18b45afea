package store

import "postern/store/schema"

import bolt "go.etcd.io/bbolt"

// Usage is the room that a bucket takes in the file.
type Usage struct {
	Rows    int   // records, damaged ones too
	Records int64 // bytes of their keys and values
	Pages   int64 // bytes of the pages that hold them, half-empty pages counted in full
}

// Usage measures a bucket. It walks through all records: a million take some tenths of a
// second.
func (s *Store) Usage(bucket string) (u Usage, err error) {
	err = s.View(func(tx *Tx) error {
		b, err := tx.bucket(bucket)
		if err != nil {
			return err
		}
		st := b.Stats()
		pages := st.BranchPageN + st.BranchOverflowN + st.LeafPageN + st.LeafOverflowN
		u.Pages = int64(pages) * int64(tx.bolt.DB().Info().PageSize)
		c := b.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if b.declared.IsGuard(k) {
				continue
			}
			u.Rows++
			u.Records += int64(len(k) + len(v))
		}
		return nil
	})
	return u, err
}

// Rows returns the number of records in a bucket, including damaged ones. It walks
// through all keys: a million take about a tenth of a second.
func (s *Store) Rows(bucket string) (n int, err error) {
	err = s.View(func(tx *Tx) error {
		b, err := tx.bucket(bucket)
		if err != nil {
			return err
		}
		n = count(b.Bucket, b.declared)
		return nil
	})
	return n, err
}

func count(b *bolt.Bucket, declared schema.Bucket) (n int) {
	c := b.Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if !declared.IsGuard(k) {
			n++
		}
	}
	return n
}
