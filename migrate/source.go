package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"postern/migrate/dump"
	"postern/migrate/postgresql"
	"postern/migrate/sqlite"
	"postern/migrate/table"
)

// sources are the files and databases of one program, read as one set of tables.
type sources struct {
	files    []*file
	by       map[string]*file // the one that has a table
	warnings []string
}

// file is one of them.
type file struct {
	table.Source
	path      string                      // of a database: its URL without the password
	unchanged func(context.Context) error // since it was opened
}

// databases are the name suffixes of SQLite files; others in a folder are ignored.
var databases = []string{".db", ".sqlite", ".sqlite3"}

// openSources opens files, and in place of a folder the databases in it.
func openSources(ctx context.Context, paths []string) (*sources, error) {
	all, err := inFolders(paths)
	if err != nil {
		return nil, err
	}
	s := &sources{by: map[string]*file{}}
	for _, path := range all {
		if err := s.open(ctx, path); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func inFolders(paths []string) (all []string, err error) {
	for _, path := range paths {
		if postgresql.IsURL(path) {
			all = append(all, path)
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			all = append(all, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		before := len(all)
		for _, e := range entries {
			if slices.Contains(databases, strings.ToLower(filepath.Ext(e.Name()))) && !e.IsDir() {
				all = append(all, filepath.Join(path, e.Name()))
			}
		}
		if len(all) == before {
			return nil, fmt.Errorf("the folder %s has no SQLite file that ends in %s; name the files", path, strings.Join(databases, ", "))
		}
	}
	return all, nil
}

func (s *sources) open(ctx context.Context, path string) error {
	open := s.openFile
	if postgresql.IsURL(path) {
		open = s.openDatabase
	}
	f, err := open(ctx, path)
	if err != nil {
		return err
	}
	s.files = append(s.files, f)
	for _, name := range f.Tables() {
		if other := s.by[name]; other != nil && strings.HasPrefix(name, "whatsmeow_") {
			return fmt.Errorf("%s and %s both have the table %s; import one after the other", other.path, f.path, name)
		}
		if s.by[name] == nil {
			s.by[name] = f
		}
	}
	return nil
}

func (s *sources) openDatabase(ctx context.Context, url string) (*file, error) {
	db, err := postgresql.Open(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("the database: %w", err)
	}
	f := &file{db, db.String(), func(ctx context.Context) error {
		changed, err := db.Changed(ctx)
		if err == nil && changed {
			err = ErrChanged
		}
		return err
	}}
	others, err := db.Others(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.path, err), db.Close())
	}
	if others != "" {
		s.warnings = append(s.warnings, fmt.Sprintf("%s has other sessions: %s; if the old program is one of them, stop it and begin again", f.path, others))
	}
	return f, nil
}

func (s *sources) openFile(ctx context.Context, path string) (*file, error) {
	path, err := filepath.EvalSymlinks(path) // what was written last is beside the file, not the link
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s cannot be read twice; write it to a regular file first", path)
	}
	isDatabase, err := beginsAs(path, sqlite.Magic)
	if err != nil {
		return nil, err
	}
	f := &file{path: path, unchanged: func(context.Context) error { return unchanged(path, info) }}
	if isDatabase {
		var db *sqlite.File
		if db, err = sqlite.Open(path); err == nil && db.MayLack() {
			s.warnings = append(s.warnings, fmt.Sprintf("%s has no -wal file beside it, where SQLite keeps the newest changes until the program ends in order; "+
				"if it did not, or the file was copied while it ran, sessions and keys are missing: stop the old program, copy the file with its -wal, and begin again", path))
		}
		f.Source = db
	} else {
		f.Source, err = dump.Open(ctx, path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func beginsAs(path, magic string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	start := make([]byte, len(magic))
	if _, err := io.ReadFull(f, start); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false, err
	}
	return bytes.Equal(start, []byte(magic)), nil
}

func (s *sources) close() (err error) {
	for _, f := range s.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

func (s *sources) has(name string) bool { return s.by[name] != nil }

// rows calls fn with each row of a table; a missing table has none.
func (s *sources) rows(ctx context.Context, name string, fn func(*table.Row) error) error {
	f := s.by[name]
	if f == nil {
		return nil
	}
	if err := f.Rows(ctx, name, fn); err != nil {
		if errors.Is(err, table.ErrMalformed) {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		return err
	}
	return nil
}

// columns returns the columns of the first row of a table; nil: it has none.
func (s *sources) columns(ctx context.Context, name string) (columns []string, err error) {
	err = s.rows(ctx, name, func(r *table.Row) error {
		columns = r.Columns
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return columns, err
}

// errEnough ends the reading of a table.
var errEnough = errors.New("enough")

// ErrChanged means that the source was changed while it was read.
var ErrChanged = errors.New("the source changed while it was read; stop the program that writes it, and try again")

// unchanged returns ErrChanged when a source has changed since it was opened.
func (s *sources) unchanged(ctx context.Context) error {
	for _, f := range s.files {
		if err := f.unchanged(ctx); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	return nil
}

// unchanged returns ErrChanged when a file is not as it was, or has a new write-ahead log.
func unchanged(path string, was fs.FileInfo) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() != was.Size() || !info.ModTime().Equal(was.ModTime()) {
		return ErrChanged
	}
	switch wal, err := os.Stat(path + "-wal"); {
	case err == nil && wal.Size() > 0:
		return ErrChanged
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}
