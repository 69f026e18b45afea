package publish

import (
	"time"

	"postern/event"
	"postern/store"
)

// bodies returns the body of an event, and that for the global webhook if it differs: own
// and global say which of them have the link of a message's file.
func (w *Writer) bodies(tx *store.Tx, n *PendingEvent, from event.Snapshot, now time.Time, own, global bool) (body, forGlobal []byte, err error) {
	m, is := n.data.(event.Message)
	if is && m.ID != 0 && (own || global) && w.src.publisher.cfg.Link != nil {
		m.Media = w.src.publisher.cfg.Link(tx, w.src.ID, &m)
	}
	if m.Media == nil {
		body, err = event.MarshalInstance(n.kind, from, n.data, now)
		return body, nil, err
	}
	if body, err = event.MarshalInstance(n.kind, from, m, now); err != nil || own && global {
		return body, nil, err
	}
	plain, err := event.MarshalInstance(n.kind, from, n.data, now)
	if own {
		return body, plain, err
	}
	return plain, body, err
}

// bodiesNow is bodies after the commit.
func (w *Writer) bodiesNow(n *PendingEvent, from event.Snapshot) (body, forGlobal []byte, err error) {
	own, global := w.src.origin.MediaLinks()
	if !own && !global {
		return w.bodies(nil, n, from, time.Now(), false, false)
	}
	viewed := w.src.publisher.cfg.Store.View(func(tx *store.Tx) error {
		body, forGlobal, err = w.bodies(tx, n, from, time.Now(), own, global)
		return nil
	})
	if err == nil {
		err = viewed
	}
	return body, forGlobal, err
}

// withBody gives the global webhook a body of its own.
func withBody(to []event.Destination, forGlobal []byte) []event.Destination {
	for i := range to {
		if to[i].Target == event.TargetGlobal {
			to[i].Body = forGlobal
		}
	}
	return to
}

// linked reports the stored event of a message with a file.
func (w *Writer) linked(tx *store.Tx, n *PendingEvent, seq uint64) error {
	own, global := w.routes.MediaLinks()
	m, is := n.data.(event.Message)
	if !is || m.ID == 0 || seq == 0 || !own && !global || w.src.publisher.cfg.Linked == nil {
		return nil
	}
	return w.src.publisher.cfg.Linked(tx, w.src.ID, m.ID, seq)
}
