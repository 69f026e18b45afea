package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// breakable is a store with a bucket of many pages, and the file below it.
func breakable(t *testing.T) (s *Store, path string, fatal *atomic.Pointer[error]) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "p.db")
	fatal = &atomic.Pointer[error]{}
	s = openTest(t, path, func(o *Options) {
		o.Fatal = func(err error) {
			if !fatal.CompareAndSwap(nil, &err) {
				t.Error("Fatal was called twice")
			}
		}
	})
	err := s.Update(t.Context(), func(tx *Tx) error {
		for i := range 3000 {
			if err := tx.Put("thing", Key(i), bytes.Repeat([]byte{byte(i)}, 200)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, path, fatal
}

// breakages are the kinds of damage to the file of a running store.
var breakages = map[string]func(t *testing.T, path string){
	"cut off": func(t *testing.T, path string) {
		t.Helper()
		if err := os.Truncate(path, int64(2*os.Getpagesize())); err != nil {
			t.Fatal(err)
		}
	},
	"pages that are no pages": func(t *testing.T, path string) {
		t.Helper()
		eachPage(t, path, func(p []byte) { copy(p[8:10], []byte{0xff, 0xff}) })
	},
	"lengths beyond the mapping": func(t *testing.T, path string) {
		t.Helper()
		eachPage(t, path, func(p []byte) {
			for i := range min(int(binary.NativeEndian.Uint16(p[10:])), 200) {
				copy(p[16+16*i+4:], []byte{0xff, 0xff, 0xff, 0x7f}) // a leaf's position, a branch's key size
			}
		})
	},
}

func eachPage(t *testing.T, path string, change func(p []byte)) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, os.Getpagesize())
	for n := int64(2); ; n++ {
		if _, err := f.ReadAt(page, n*int64(len(page))); err != nil {
			return
		}
		change(page)
		if _, err := f.WriteAt(page, n*int64(len(page))); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDamageUnderARunningStoreEndsItClearly(t *testing.T) {
	read := func(tx *Tx) error {
		for i := range 3000 {
			if _, err := tx.Get("thing", Key(i)); err != nil && !errors.Is(err, ErrDamaged) {
				return err
			}
		}
		return tx.Scan("thing", Range{}, func(_, _ []byte) (bool, error) { return true, nil })
	}
	write := func(tx *Tx) error {
		for i := 0; i < 3000; i += 10 {
			if err := tx.Put("thing", Key(i), nil); err != nil {
				return err
			}
		}
		return nil
	}
	for what, breakIt := range breakages {
		for how, call := range map[string]func(*Store) error{
			"View":          func(s *Store) error { return s.View(read) },
			"Update, reads": func(s *Store) error { return s.Update(t.Context(), read) },
			"Update":        func(s *Store) error { return s.Update(t.Context(), write) },
		} {
			t.Run(what+", "+how, func(t *testing.T) {
				s, path, fatal := breakable(t)
				breakIt(t, path)
				if err := call(s); !errors.Is(err, ErrFailed) {
					t.Errorf("the call returned %v", err)
				}
				if err := fatal.Load(); err == nil || !errors.Is(*err, ErrCorrupt) || !strings.Contains((*err).Error(), path) {
					t.Errorf("Fatal got %v", err)
				}
				if err := s.Update(t.Context(), func(*Tx) error { return nil }); !errors.Is(err, ErrFailed) {
					t.Errorf("a later Update: %v", err)
				}
				if err := s.Admit(); !errors.Is(err, ErrFailed) {
					t.Errorf("Admit: %v", err)
				}
				_ = s.Close()
			})
		}
	}
}

func TestAPanicOfAClosureIsNoDamage(t *testing.T) {
	s, _, fatal := breakable(t)
	var none *Store
	for name, bug := range map[string]func(tx *Tx) error{
		"nil":   func(*Tx) error { return fmt.Errorf("%v", none.opts.Path) },
		"index": func(*Tx) error { return fmt.Errorf("%d", make([]int, 0)[len(t.Name())]) },
		"panic": func(*Tx) error { panic("assertion failed: a mistake of the closure") },
		"inside a scan": func(tx *Tx) error {
			return tx.Scan("thing", Range{}, func(k, _ []byte) (bool, error) { panic(k[99]) })
		},
	} {
		for how, call := range map[string]func(func(*Tx) error) error{
			"View":   s.View,
			"Update": func(fn func(*Tx) error) error { return s.Update(t.Context(), fn) },
		} {
			panicked := func() (p any) {
				defer func() { p = recover() }()
				return call(bug)
			}()
			if err, returned := panicked.(error); panicked == nil || returned && errors.Is(err, ErrFailed) {
				t.Errorf("%s in %s: %v", name, how, panicked)
			}
		}
	}
	if err := fatal.Load(); err != nil {
		t.Errorf("Fatal got %v", *err)
	}
	if err := s.View(func(tx *Tx) error { _, err := tx.Get("thing", Key(1)); return err }); err != nil {
		t.Error(err)
	}
}

func TestRefusedUpdateDoesNotReadTheFile(t *testing.T) {
	s, path, fatal := breakable(t)
	no := errors.New("no")
	refuse := func() error { return s.Update(t.Context(), func(*Tx) error { return no }) }
	if err := refuse(); !errors.Is(err, no) {
		t.Fatal(err)
	}
	// bbolt would read these pages in a goroutine of its own, where the panic is not
	// recovered.
	breakages["pages that are no pages"](t, path)
	for range 3 {
		if err := refuse(); !errors.Is(err, no) || fatal.Load() != nil {
			t.Fatal(err, fatal.Load())
		}
	}
	s.broken.Store(true) // so that Close does not read it either
}
