package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const (
	lockTimeout = time.Second
	fileMode    = 0o600
	folderMode  = 0o700
	// mmapSize is the address space reserved at once: remapping while the file
	// grows would make the writer wait for every reader.
	mmapSize = 1 << 30
)

// openFile opens the bbolt file at path, made aside and moved into place when
// there is none.
func openFile(path string, sch schema, noSync bool) (*bolt.DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return nil, explain(err)
	}
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = create(path, sch)
	}
	if err != nil {
		return nil, explain(err)
	}
	if err := checkHeader(path); err != nil {
		return nil, explain(err)
	}
	db, err := openBolt(path, noSync)
	if err != nil {
		return nil, explain(err)
	}
	removeLeftovers(path)
	return db, nil
}

// create builds a complete empty file under another name and links it to its
// place, so that a crash leaves either no file or a whole one, and a second
// process that creates at the same moment loses the race instead of the data.
func create(path string, sch schema) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+leftoverSuffix+"*")
	if err != nil {
		return err
	}
	temp := f.Name()
	defer os.Remove(temp)
	if err := f.Close(); err != nil {
		return err
	}
	db, err := openBolt(temp, false)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error { return initialise(tx, sch) })
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	if err := os.Chmod(temp, fileMode); err != nil {
		return err
	}
	if err := moveNew(temp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// moveNew gives temp the name path unless that name is taken. File systems
// without hard links get a rename.
func moveNew(temp, path string) error {
	err := os.Link(temp, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(temp, path)
}

const leftoverSuffix = ".new-"

// removeLeftovers deletes what a crash during creation left. The lock on the
// real file is held, so nobody is creating it. What cannot be deleted is
// harmless.
func removeLeftovers(path string) {
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), filepath.Base(path)+leftoverSuffix+"*"))
	if err != nil {
		return
	}
	for _, name := range names {
		_ = os.Remove(name)
	}
}

func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// openBolt opens the file with bbolt and turns the panics with which bbolt
// meets some damaged files into errors.
func openBolt(path string, noSync bool) (db *bolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			db, err = nil, fmt.Errorf("%w (%v)", ErrCorrupt, p)
		}
	}()
	return bolt.Open(path, fileMode, &bolt.Options{
		Timeout:         lockTimeout,
		NoFreelistSync:  true,
		FreelistType:    bolt.FreelistMapType,
		InitialMmapSize: initialMmap(),
		NoSync:          noSync,
	})
}

func initialMmap() int {
	if strconv.IntSize < 64 {
		return 0
	}
	return mmapSize
}

// checkHeader reads the two meta pages by hand: bbolt would take an empty file
// for a new one, and would crash on a file that is shorter than it says.
func checkHeader(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%w (it is a folder)", ErrForeign)
	}
	if info.Size() == 0 {
		return fmt.Errorf("%w (it is empty)", ErrForeign)
	}
	first, err := readMeta(f, 0)
	if err != nil {
		return fmt.Errorf("%w (too short)", ErrForeign)
	}
	if first.magic != boltMagic || first.pageSize < 512 || first.pageSize > 1<<20 {
		// The first meta page may be the damaged one of the two.
		first.pageSize = uint32(os.Getpagesize())
	}
	second, err := readMeta(f, int64(first.pageSize))
	if first.magic != boltMagic && (err != nil || second.magic != boltMagic) {
		return ErrForeign
	}
	newest := first
	if err == nil && second.magic == boltMagic && second.txid > first.txid {
		newest = second
	}
	if want := int64(newest.pages) * int64(newest.pageSize); newest.magic == boltMagic && info.Size() < want {
		return fmt.Errorf("%w (it was cut off: %d bytes of %d)", ErrCorrupt, info.Size(), want)
	}
	return nil
}

const boltMagic = 0xED0CDAED

type metaPage struct {
	magic, pageSize uint32
	pages, txid     uint64
}

// readMeta decodes the fields of bbolt's meta page at offset that are needed
// here: 16 bytes of page header, then magic, version, page size, flags, root
// bucket (16), free list, high-water page id, transaction id.
func readMeta(r io.ReaderAt, offset int64) (metaPage, error) {
	var b [80]byte
	if _, err := r.ReadAt(b[:], offset); err != nil {
		return metaPage{}, err
	}
	le := binary.NativeEndian
	return metaPage{
		magic:    le.Uint32(b[16:]),
		pageSize: le.Uint32(b[24:]),
		pages:    le.Uint64(b[56:]),
		txid:     le.Uint64(b[64:]),
	}, nil
}

// explain wraps err in the sentinel that tells the operator what to do.
func explain(err error) error {
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return ErrLocked
	case errors.Is(err, fs.ErrPermission), isReadOnlyFS(err):
		return fmt.Errorf("%w (%w)", ErrReadOnly, err)
	case IsFull(err):
		return fmt.Errorf("%w (%w)", ErrDiskFull, err)
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch), errors.Is(err, berrors.ErrChecksum):
		return fmt.Errorf("%w (%w)", ErrCorrupt, err)
	}
	return err
}
