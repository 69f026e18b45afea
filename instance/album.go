package instance

import (
	"context"
	"errors"
	"fmt"

	"postern/event"
	"postern/store"
)

// Album is an album as it was sent and stored.
type Album struct {
	Begin event.Message
	Items []AlbumItem // in order
}

// AlbumItem is the message of one file, or why it was not sent.
type AlbumItem struct {
	Message event.Message
	Err     error // nil: it was sent
}

// SendAlbum sends the message that begins an album, and then one with each of its files: no other message of the
// instance comes between. All files are at WhatsApp before anything leaves, and the instance's limits admit all of
// it or nothing. It stores each message, and publishes send.message. A file whose message is refused does not end
// the album. InCommit of k is called in the commit of the last message, with the album, when that is sent.
//
// Errors are those of SendAndStore. If it is not known whether a message was sent, nothing more is: the messages
// before are stored.
func (s *Supervisor) SendAlbum(ctx context.Context, id int64, out event.Outgoing, k Keeping, newID func() string, inCommit func(*store.Tx, Album) error) (a Album, err error) {
	files := out.Content.Album.Files
	if err := s.MaySend(id, event.Outgoing{}); err != nil { // refused for every recipient: no look-up
		return a, err
	}
	holders := make([]string, len(files)+1)
	for i := range holders {
		holders[i] = fmt.Sprintf("%s/%d", out.ID, i)
	}
	defer s.release(holders)
	out.Series = &event.Series{}
	defer out.Series.End()
	to := out.To
	out.Holder = holders[0]
	out.Found = func(_ context.Context, jid string) error {
		to = jid
		return s.reserve(id, jid, holders)
	}
	k.InCommit = nil
	if a.Begin, err = s.SendAndStore(ctx, id, out, k); err != nil {
		return a, err
	}
	ctx = context.WithoutCancel(ctx) // the recipients expect the rest
	for i, file := range files {
		item := event.Outgoing{
			ID: newID(), To: to, Content: event.Content{Media: file}, Album: out.ID, By: out.By, Series: out.Series, Holder: holders[i+1],
		}
		if i == len(files)-1 && inCommit != nil {
			k.InCommit = func(tx *store.Tx, m event.Message) error {
				whole := Album{a.Begin, append(a.Items[:i:i], AlbumItem{Message: m})}
				return inCommit(tx, whole)
			}
		}
		m, err := s.SendAndStore(ctx, id, item, k)
		if errors.Is(err, event.ErrOutcomeUnknown) || errors.Is(err, ErrNotStored) {
			return a, fmt.Errorf("items[%d]: %w", i, err)
		}
		a.Items = append(a.Items, AlbumItem{m, err})
	}
	return a, nil
}

// reserve reserves a place within the limits of an instance for each holder, or none. The error wraps
// event.ErrNotNow.
func (s *Supervisor) reserve(id int64, to string, holders []string) error {
	if s.cfg.Pacer == nil {
		return nil
	}
	if err := s.cfg.Pacer.HoldAll(id, to, holders); err != nil {
		return fmt.Errorf("the album as a whole: %w", err)
	}
	return nil
}

func (s *Supervisor) release(holders []string) {
	if s.cfg.Pacer == nil {
		return
	}
	for _, h := range holders {
		s.cfg.Pacer.Release(h)
	}
}
