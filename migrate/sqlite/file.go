package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"postern/internal/plural"
	"postern/migrate/table"
)

// Magic is the beginning of an SQLite file.
const Magic = "SQLite format 3\x00"

// Errors for files that SQLite would not read as they are.
var (
	// ErrBusy: a part of the database is in a log beside it, since the program that writes it runs,
	// or did not end in order.
	ErrBusy = errors.New("a part of the database is beside the file")
	// ErrInUse: a program has it open for writing.
	ErrInUse = errors.New("the file is in use")
)

const headerSize = 100

// header is the decoded part of the first 100 bytes.
type header struct {
	pageSize int64
	usable   int // of a page; the rest is reserved for extensions
	pages    uint32
	logged   bool // changes are written to a log beside the file first
}

// File is an SQLite file. It implements [table.Source].
type File struct {
	r      io.ReaderAt
	close  func() error
	head   header
	tables map[string]entry
	order  []string
	alone  bool // there is no log beside it
}

// entry is a table in the file's schema table.
type entry struct {
	root uint32
	sql  string
}

// Open opens the file at path. Errors wrap ErrBusy, ErrInUse, table.ErrMalformed, or are
// those of the file system.
func Open(path string) (*File, error) {
	if who := inUse(path); who != "" {
		return nil, fmt.Errorf("%w: %s has it open; stop that program, and try again", ErrInUse, who)
	}
	if err := refuseBeside(path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	file, err := Read(f, info.Size())
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	file.close = f.Close
	_, err = os.Stat(path + "-wal")
	file.alone = errors.Is(err, fs.ErrNotExist)
	return file, nil
}

// MayLack reports whether the newest changes may be missing: SQLite writes them to a log
// beside the file first, and there is none. It is so after the program that wrote the file
// ended in order, and when the file was copied without its log.
func (f *File) MayLack() bool { return f.head.logged && f.alone }

// journalMagic begins a journal that SQLite would play back.
var journalMagic = []byte{0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7}

// refuseBeside refuses a file whose newest state is partly beside it.
func refuseBeside(path string) error {
	wal, err := os.Stat(path + "-wal")
	switch {
	case err == nil && wal.Size() > 0:
		return fmt.Errorf("%w: %s-wal has %s of what was written last; stop the program that uses it, then run: sqlite3 %[2]q 'PRAGMA wal_checkpoint(TRUNCATE)'", ErrBusy, path, plural.Of(wal.Size(), "byte"))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	journal, err := os.Open(path + "-journal")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer journal.Close()
	start := make([]byte, len(journalMagic))
	if _, err := io.ReadFull(journal, start); err == nil && bytes.Equal(start, journalMagic) {
		return fmt.Errorf("%w: %s-journal belongs to a change that was not completed; stop the program that uses it, then run: sqlite3 %[2]q 'PRAGMA schema_version'", ErrBusy, path)
	}
	return nil
}

// Read reads a file of size bytes from r. Close does nothing to r.
func Read(r io.ReaderAt, size int64) (*File, error) {
	f := &File{r: r, close: func() error { return nil }, tables: map[string]entry{}}
	var raw [headerSize]byte
	if n, err := r.ReadAt(raw[:], 0); n < headerSize {
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: the file has %d bytes, too few for an SQLite file", table.ErrMalformed, size)
	}
	if err := f.head.decode(raw[:], size); err != nil {
		return nil, err
	}
	return f, f.contents()
}

// decode reads the header of a file of size bytes.
func (h *header) decode(raw []byte, size int64) error {
	e := binary.BigEndian
	h.pageSize = int64(e.Uint16(raw[16:]))
	if h.pageSize == 1 {
		h.pageSize = 65536
	}
	h.usable = int(h.pageSize) - int(raw[20])
	h.logged = raw[18] == 2 || raw[19] == 2
	encoding := e.Uint32(raw[56:])
	switch {
	case string(raw[:16]) != Magic:
		return fmt.Errorf("%w: this is not an SQLite file", table.ErrMalformed)
	case h.pageSize < 512 || h.pageSize&(h.pageSize-1) != 0:
		return fmt.Errorf("%w: page 1: pages of %d bytes", table.ErrMalformed, h.pageSize)
	case h.usable < 480 || raw[21] != 64 || raw[22] != 32 || raw[23] != 32:
		return fmt.Errorf("%w: page 1: the page layout is not one that SQLite writes", table.ErrMalformed)
	case raw[19] > 2:
		return fmt.Errorf("%w: page 1: the file is of version %d, which this program cannot read; give the text of sqlite3 FILE .dump", table.ErrMalformed, raw[19])
	case encoding > 1:
		return errors.New("the texts of the file are in UTF-16; give the text of sqlite3 FILE .dump, which is in UTF-8")
	case size%h.pageSize != 0:
		return fmt.Errorf("%w: the file has %d bytes, which is not a multiple of the page size %d; it is truncated, or being written", table.ErrMalformed, size, h.pageSize)
	}
	pages := size / h.pageSize
	if declared := int64(e.Uint32(raw[28:])); declared != 0 && e.Uint32(raw[24:]) == e.Uint32(raw[92:]) {
		if declared > pages {
			return fmt.Errorf("%w: the file has %s and should have %d; it is truncated", table.ErrMalformed, plural.Of(pages, "page"), declared)
		}
		pages = declared
	}
	if pages > 1<<32-2 {
		return fmt.Errorf("%w: the file has more pages than SQLite can number", table.ErrMalformed)
	}
	h.pages = uint32(pages) //nolint:gosec // bounded above
	return nil
}

// contents reads the table of contents, which begins on the first page.
func (f *File) contents() error {
	w := f.walk("the table of contents", 1)
	return w.each(context.Background(), func(_ int64, values []any, at uint32) error {
		if len(values) != 5 {
			return w.malformed(at, "a row has %s instead of 5", plural.Of(len(values), "value"))
		}
		kind, _ := values[0].(string)
		name, _ := values[1].(string)
		root, isPage := values[3].(int64)
		sql, _ := values[4].(string)
		if kind != "table" || !isPage || root == 0 { // 0: a virtual table
			return nil
		}
		if root < 1 || root > int64(f.head.pages) {
			return w.malformed(at, "table %.100q begins on page %d of %d", name, root, f.head.pages)
		}
		if _, twice := f.tables[name]; twice {
			return w.malformed(at, "table %.100q is there twice", name)
		}
		f.tables[name] = entry{uint32(root), sql} //nolint:gosec // bounded above
		f.order = append(f.order, name)
		return nil
	})
}

// Tables implements [table.Source].
func (f *File) Tables() []string { return f.order }

// Has implements [table.Source].
func (f *File) Has(name string) bool {
	_, has := f.tables[name]
	return has
}

// Close implements [table.Source].
func (f *File) Close() error { return f.close() }

// Rows implements [table.Source].
func (f *File) Rows(ctx context.Context, name string, fn func(*table.Row) error) error {
	found, has := f.tables[name]
	if !has {
		return fmt.Errorf("table %.100q: %w", name, table.ErrNoTable)
	}
	def, err := table.ParseCreate(found.sql)
	switch {
	case err != nil:
		return fmt.Errorf("%w: the definition of table %.100q cannot be read: %w", table.ErrMalformed, name, err)
	case def.Keyed, def.Generated:
		return fmt.Errorf("table %.100q is WITHOUT ROWID or has computed columns, which are not read from the file; give the text of sqlite3 FILE .dump", name)
	}
	columns := def.Names()
	w := f.walk("table "+name, found.root)
	return w.each(ctx, func(id int64, values []any, at uint32) error {
		if len(values) > len(columns) {
			return w.malformed(at, "a row has %s for %s", plural.Of(len(values), "value"), plural.Of(len(columns), "column"))
		}
		for _, c := range def.Columns[len(values):] {
			values = append(values, c.Default)
		}
		if def.RowID >= 0 && values[def.RowID] == nil {
			values[def.RowID] = id
		}
		return fn(&table.Row{Table: name, Columns: columns, Values: values, At: fmt.Sprintf("page %d, row %d", at, id)})
	})
}
