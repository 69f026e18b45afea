package store

import (
	"os"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"postern/store/schema"
)

// counters are the store's counters since Open.
type counters struct {
	commits, updates, damaged atomic.Uint64
	pages, writes, wakes      atomic.Uint64
	commitNanos               atomic.Int64
	looked                    atomic.Uint64
}

// commit counts one commit of group calls; what is bbolt's account of it.
func (c *counters) commit(group int, took time.Duration, what bolt.TxStats) {
	c.commits.Add(1)
	c.updates.Add(uint64(group))
	c.pages.Add(uint64(what.GetPageCount()) + 1) // the meta page is not among them
	c.writes.Add(uint64(what.GetWrite()))
	c.commitNanos.Add(int64(took))
}

// Stats holds the store's counters since Open, for metrics.
type Stats struct {
	Commits    uint64        // bbolt commits, each with its fsync
	Updates    uint64        // calls of Update that they carried
	Pages      uint64        // that the commits wrote, each of PageSize bytes
	Writes     uint64        // system calls that wrote them
	Looked     uint64        // records and keys that Views read
	Wakes      uint64        // how often the writer was woken; it then runs until no call waits
	CommitTime time.Duration // time spent in commits, all together
	WriteTime  time.Duration // the part of it spent on writing and fsync
	Damaged    uint64        // how often a damaged record was met
	PagesMade  uint64        // pages that commits wrote, each replacing an old one
	SetAside   int           // records that are known to be damaged now
	FreeBytes  uint64        // on the disk, 0 when not known
	FileBytes  int64         // size of the data file, 0 when not known
	FreePages  int           // of the file, to be used again
	PageSize   int
}

// Stats returns the counters. It reads nothing of the file but its size.
func (s *Store) Stats() Stats {
	free, _ := s.space.bytes()
	file := s.db.Stats()
	return Stats{
		Commits:    s.stats.commits.Load(),
		Updates:    s.stats.updates.Load(),
		Pages:      s.stats.pages.Load(),
		Writes:     s.stats.writes.Load(),
		Looked:     s.stats.looked.Load(),
		Wakes:      s.stats.wakes.Load(),
		CommitTime: time.Duration(s.stats.commitNanos.Load()),
		Damaged:    s.stats.damaged.Load(),
		SetAside:   s.aside.len(),
		FreeBytes:  free,
		FileBytes:  fileSize(s.opts.Path),
		WriteTime:  file.TxStats.GetWriteTime(),
		PagesMade:  uint64(file.TxStats.GetPageCount()),
		FreePages:  file.FreePageN + file.PendingPageN,
		PageSize:   s.db.Info().PageSize,
	}
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

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
