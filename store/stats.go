package store

import (
	"os"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
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
