//go:build linux

package powerloss

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// kind is what an operation does.
type kind int

const (
	writes kind = iota
	truncates
	syncs
	names // makes, links, renames, removes
)

// op is one system call that concerns the folder.
type op struct {
	kind       kind
	begin, end int // positions; end is 0 until it has returned
	failed     bool
	file       int    // that is written, truncated or synced; folders are files too
	offset     int64  // of a write
	data       []byte // of a write
	size       int64  // after a truncation
	names      []name // that become something else, all or none
}

// name is an entry of a folder and what it is from now on.
type name struct {
	folder int
	name   string
	file   int  // 0: it is gone
	isDir  bool // the file is a folder
}

// Call is a system call that concerns the folder and is about to be done.
type Call struct {
	Name string // open (that makes or truncates a file), mkdir, write, truncate, sync, link, rename or unlink
	Path string // the file; of a rename its new name
}

// Fault is what is to happen to a call.
type Fault struct {
	Delay time.Duration // before it is done
	Hold  func() bool   // once this returns true, it is decided about again
	Err   syscall.Errno // it is not done, and returns this
	Kill  bool          // the program is killed before it
}

// Recording is what happened to the files in a folder. Several programs may be
// run one after the other, as long as no other process changes the folder.
type Recording struct {
	root string

	// Fault, when set before Run, decides about each call. It is called by the recorder,
	// which everything waits for.
	Fault func(Call) Fault

	mu    sync.Mutex
	ops   []*op
	pos   int
	ids   map[uint64]int // by inode
	last  int            // id given last
	start []entry        // what was there at the beginning
	err   error
}

// entry is a file that was in the folder at the beginning.
type entry struct {
	id, folder int
	name       string
	dir        bool
	content    []byte
}

// New begins the recording of a folder. What is in it counts as on the disk.
func New(folder string) (*Recording, error) {
	root, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, err
	}
	r := &Recording{root: root, ids: map[uint64]int{}}
	parents := map[string]int{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e := entry{id: r.newFile(inode(info)), dir: d.IsDir(), name: d.Name(), folder: parents[filepath.Dir(path)]}
		if !e.dir {
			if e.content, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		parents[path] = e.id
		r.start = append(r.start, e)
		return nil
	})
	return r, err
}

// Pos returns the position of now: what has returned before is at or before it.
func (r *Recording) Pos() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pos
}

// Err returns the first thing that could not be recorded, nil when all was.
func (r *Recording) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Syncs returns how many syncs were done and how many were made to fail.
func (r *Recording) Syncs() (done, failed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.ops {
		switch {
		case o.kind != syncs || o.end == 0:
		case o.failed:
			failed++
		default:
			done++
		}
	}
	return done, failed
}

func (r *Recording) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

// begin notes that o begins now.
func (r *Recording) begin(o *op) *op {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pos++
	o.begin = r.pos
	r.ops = append(r.ops, o)
	return o
}

// finish notes that o returns now.
func (r *Recording) finish(o *op, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pos++
	o.end, o.failed = r.pos, failed
}

// file returns the id of a file of the folder.
func (r *Recording) file(info os.FileInfo) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, known := r.ids[inode(info)]
	if !known {
		return 0, fmt.Errorf("powerloss: %s came from nowhere", info.Name())
	}
	return id, nil
}

// newFile gives an id to a file that was just made. Inodes are used again.
func (r *Recording) newFile(inode uint64) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	r.ids[inode] = r.last
	return r.last
}

func inode(info os.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }
