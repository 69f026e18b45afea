package store

import bolt "go.etcd.io/bbolt"

// Rows returns how many records a bucket has, damaged ones too. It walks
// through all keys: a million take about a tenth of a second.
func (s *Store) Rows(bucket string) (n int, err error) {
	err = s.View(func(tx *Tx) error {
		b, err := tx.bucket(bucket)
		if err != nil {
			return err
		}
		n = count(b, s.schema[bucket])
		return nil
	})
	return n, err
}

func count(b *bolt.Bucket, declared Bucket) (n int) {
	c := b.Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if !declared.isGuard(k) {
			n++
		}
	}
	return n
}
