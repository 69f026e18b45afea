package later

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/google/uuid"

	"postern/event"
	"postern/instance"
	"postern/store"
)

const (
	pieceSize = 256 << 10
	perCommit = 4 // pieces
)

// keep stores the file at path in pieces, in small commits.
func (s *Scheduler) keep(ctx context.Context, of int64, id uuid.UUID, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	buf := make([]byte, perCommit*pieceSize)
	for first := 0; ; first += perCommit {
		n, err := io.ReadFull(f, buf)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		ended := err != nil
		if err := s.keepPieces(ctx, of, id, first, buf[:n]); err != nil || ended {
			return err
		}
	}
}

func (s *Scheduler) keepPieces(ctx context.Context, of int64, id uuid.UUID, first int, raw []byte) error {
	if err := s.cfg.Store.Admit(); err != nil || len(raw) == 0 {
		return err
	}
	return s.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		if err := instance.There(tx, of); err != nil {
			return err
		}
		for i := 0; i*pieceSize < len(raw); i++ {
			piece := raw[i*pieceSize : min((i+1)*pieceSize, len(raw))]
			if err := tx.Put(files, store.Key(of, id, first+i), piece); err != nil {
				return err
			}
		}
		return nil
	})
}

// dropFile removes the pieces of a file whose send was not accepted.
func (s *Scheduler) dropFile(of int64, id uuid.UUID) {
	err := s.cfg.Store.Update(context.Background(), func(tx *store.Tx) error {
		_, err := tx.DeletePrefix(files, store.Key(of, id))
		return err
	})
	if err != nil && !errors.Is(err, store.ErrClosed) {
		s.log.Warn("the file of a refused scheduled send could not be removed; the next start removes it", "instance_id", of, "error", err)
	}
}

// dropOrphans removes the files that a crash left without a send, one in each commit.
func (s *Scheduler) dropOrphans(ctx context.Context) error {
	for from := []byte{}; ; {
		var orphan []byte
		err := s.cfg.Store.View(func(tx *store.Tx) error {
			for {
				var key []byte
				err := tx.Walk(files, store.Range{From: from}, func(k []byte) (bool, error) {
					key = append(key, k[:24]...)
					return false, nil
				})
				if err != nil || key == nil {
					return err
				}
				from = append(store.Key(key), 0xff)
				if !tx.Has(sends, key) {
					orphan = key
					return nil
				}
			}
		})
		if err != nil || orphan == nil {
			return err
		}
		err = s.cfg.Store.Update(ctx, func(tx *store.Tx) error {
			_, err := tx.DeletePrefix(files, orphan)
			return err
		})
		if err != nil {
			return err
		}
	}
}

// pieces reads the file of a send.
type pieces struct {
	store *store.Store
	w     *waiting
	next  int    // piece
	left  []byte // of the one before it
}

// Read implements io.Reader.
func (p *pieces) Read(to []byte) (int, error) {
	if len(p.left) == 0 {
		if p.next == p.w.File.Pieces {
			return 0, io.EOF
		}
		err := p.store.View(func(tx *store.Tx) (err error) {
			p.left, err = tx.Get(files, store.Key(p.w.instance, p.w.id, p.next))
			return err
		})
		if err != nil {
			return 0, err
		}
		if len(p.left) == 0 {
			return 0, fmt.Errorf("%w: piece %d of %d is missing", event.ErrMedia, p.next+1, p.w.File.Pieces)
		}
		p.next++
	}
	n := copy(to, p.left)
	p.left = p.left[n:]
	return n, nil
}
