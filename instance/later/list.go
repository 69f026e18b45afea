package later

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// Scheduled is a send that has not ended.
type Scheduled struct {
	ID         uuid.UUID
	At         time.Time
	LateMax    time.Duration
	Out        event.Outgoing // without its file
	File       *event.MediaInfo
	Attributes event.Attributes
	CreatedAt  event.Time
	Begun      bool // the message is being sent
}

// Query selects a page of the sends of an instance, the next one first.
type Query struct {
	Limit  int
	After  uuid.UUID // only those after this one; Nil: from the first
	Before uuid.UUID // only those just before this one; excludes After
}

// Page is a part of the sends of an instance.
type Page struct {
	Sends    []Scheduled
	Total    int       // on all pages
	Next     uuid.UUID // After of the next page; Nil: none
	Previous uuid.UUID // Before of the page before; Nil: none
}

// List returns a page of the sends of an instance.
func (s *Scheduler) List(ctx context.Context, of int64, q Query) (page Page, err error) {
	if ctx.Err() != nil {
		return page, context.Cause(ctx)
	}
	err = s.cfg.Store.View(func(tx *store.Tx) error {
		page = Page{}
		return page.read(tx, of, q)
	})
	if err != nil {
		return Page{}, fmt.Errorf("list scheduled sends of instance %d: %w", of, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lanes[of]; l != nil {
		page.Total = l.count
	}
	return page, nil
}

func (p *Page) read(tx *store.Tx, of int64, q Query) error {
	r := store.Range{Prefix: store.Key(of), Reverse: q.Before != uuid.Nil, Limit: q.Limit}
	switch {
	case q.Before != uuid.Nil:
		r.Before = store.Key(of, q.Before)
	case q.After != uuid.Nil:
		r.From = append(store.Key(of, q.After), 0)
	}
	err := tx.Scan(sends, r, func(k, v []byte) (bool, error) {
		w, err := decode(tx, k, v)
		if err == nil {
			p.Sends = append(p.Sends, w.shown(tx))
		}
		return true, err
	})
	if err != nil || len(p.Sends) == 0 {
		return err
	}
	if r.Reverse {
		slices.Reverse(p.Sends)
	}
	first, last := p.Sends[0].ID, p.Sends[len(p.Sends)-1].ID
	if p.Previous, err = beyond(tx, first, store.Range{Prefix: store.Key(of), Before: store.Key(of, first)}); err == nil {
		p.Next, err = beyond(tx, last, store.Range{Prefix: store.Key(of), From: append(store.Key(of, last), 0)})
	}
	return err
}

// beyond returns id if there are sends in r, else Nil.
func beyond(tx *store.Tx, id uuid.UUID, r store.Range) (found uuid.UUID, err error) {
	err = tx.Walk(sends, r, func([]byte) (bool, error) {
		found = id
		return false, nil
	})
	return found, err
}

func (w *waiting) shown(tx *store.Tx) Scheduled {
	one := Scheduled{
		ID: w.id, At: timeOf(w.id), LateMax: time.Duration(w.LateMax) * time.Millisecond, Out: w.Out,
		Attributes: w.Attributes, CreatedAt: w.CreatedAt, Begun: tx.Has(begun, w.key()),
	}
	if w.File != nil {
		one.File = &w.File.MediaInfo
	}
	return one
}
