package whatsapp

import (
	"compress/flate"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waHistorySync"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/proto"

	"postern/event"
)

const (
	maxHistoryFile = 1 << 30 // bytes of a piece as WhatsApp has it

	// historyTries and historyPause: how often a piece is tried on one
	// connection, and how long after a failure. The next login tries anew.
	historyTries = 3
	historyPause = 30 * time.Second
)

// historyNotice is the notice that a phone has a piece of history for this
// device, nil in any other message.
func historyNotice(evt *events.Message) *waE2E.HistorySyncNotification {
	if !evt.Info.IsFromMe {
		return nil
	}
	return evt.Message.GetProtocolMessage().GetHistorySyncNotification()
}

// keepNotice stores a notice before it is acknowledged: the phone sends it once.
func (s *Session) keepNotice(cli *whatsmeow.Client, id string, notice *waE2E.HistorySyncNotification) bool {
	asked := historyKey(notice.GetPeerDataRequestSessionID())
	raw, err := proto.Marshal(notice)
	if err == nil {
		err = s.conn.cfg.Devices.KeepNotice(context.Background(), s.instance, id, s.causes.of(asked), raw)
	}
	if err != nil {
		s.log.Warn("notice of history not stored, asking for it again", "error", err)
		s.abandon(fmt.Errorf("a notice of history could not be stored: %w", err))
		return false
	}
	s.causes.take(asked)
	s.takeHistory(cli, id)
	return true
}

// takeHistories reads what a former connection left unread.
func (s *Session) takeHistories(cli *whatsmeow.Client) {
	ids, err := s.conn.cfg.Devices.Notices(s.instance)
	if err != nil {
		s.log.Warn("notices of history not read", "error", err)
	}
	for _, id := range ids {
		s.takeHistory(cli, id)
	}
}

// takeHistory reads a piece of history in the background, one after the other,
// and tells of it. The library would read it too, whole and several times in
// memory; here it is read in parts.
func (s *Session) takeHistory(cli *whatsmeow.Client, id string) {
	s.mu.Lock()
	life := s.life
	s.mu.Unlock()
	if life == nil {
		return
	}
	s.background.Go(func() {
		s.reading.Lock()
		defer s.reading.Unlock()
		for try := 1; life.Err() == nil; try++ {
			err := s.takePiece(life, cli, id)
			if err == nil || life.Err() != nil {
				return
			}
			if try == historyTries {
				s.log.Warn("history not read; the next login tries again", "error", err)
				return
			}
			select {
			case <-time.After(s.conn.historyPause):
			case <-life.Done():
			}
		}
	})
}

// takePiece reads the piece that a kept notice is about and tells of it, by which
// the notice is forgotten. It returns an error when another try may help.
func (s *Session) takePiece(ctx context.Context, cli *whatsmeow.Client, id string) error {
	raw, requestID, err := s.conn.cfg.Devices.Notice(s.instance, id)
	if err != nil || raw == nil {
		return err
	}
	notice := &waE2E.HistorySyncNotification{}
	if err := proto.Unmarshal(raw, notice); err != nil {
		err = fmt.Errorf("%w: notice: %w", errHistory, err)
		return s.losePiece(ctx, id, notice, err)
	}
	h, err := s.readPiece(ctx, cli, notice)
	if err != nil {
		return s.losePiece(ctx, id, notice, err)
	}
	f := event.Fact{Kind: event.HistorySync, Data: s.translator(cli).history(h), RequestID: requestID, Notice: id}
	if err := s.report(context.WithoutCancel(ctx), f); err != nil {
		return fmt.Errorf("tell of history: %w", err)
	}
	if notice.InitialHistBootstrapInlinePayload == nil {
		err := cli.DeleteMedia(ctx, whatsmeow.MediaHistory, notice.GetDirectPath(), notice.GetFileEncSHA256(), notice.GetEncHandle())
		if err != nil {
			s.log.Debug("history not deleted from the server", "error", err)
		}
	}
	return nil
}

// losePiece forgets a piece that cannot be read at all, and returns the cause
// when another try may help.
func (s *Session) losePiece(ctx context.Context, id string, notice *waE2E.HistorySyncNotification, cause error) error {
	if !hopeless(cause) {
		return cause
	}
	s.log.Warn("history not read, and lost", "sync_type", notice.GetSyncType().String(), "error", cause)
	return s.conn.cfg.Devices.DropNotice(context.WithoutCancel(ctx), s.instance, id)
}

// hopeless tells whether reading a piece again would end in the same way.
func hopeless(err error) bool {
	for _, final := range []error{
		errHistory, io.ErrUnexpectedEOF, zlib.ErrHeader, zlib.ErrChecksum, zlib.ErrDictionary, proto.Error, event.ErrMediaGone, event.ErrMedia,
	} {
		if errors.Is(err, final) {
			return true
		}
	}
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	return corrupt
}

// readPiece goes through a piece twice: what is said of people comes after their
// conversations, and by it these have their names.
func (s *Session) readPiece(ctx context.Context, cli *whatsmeow.Client, notice *waE2E.HistorySyncNotification) (history, error) {
	piece, err := s.openPiece(ctx, notice)
	if err != nil {
		return history{}, err
	}
	defer func() { _ = piece.Close() }()
	h, err := readHistoryHeads(piece, func(c *waHistorySync.Conversation) { s.learnPair(ctx, cli, c) })
	if err != nil {
		return h, err
	}
	s.learn(ctx, cli, h.rest)
	if _, err := piece.Seek(0, io.SeekStart); err != nil {
		return h, fmt.Errorf("history: %w", err)
	}
	k := s.newKeeping(cli, h.rest.GetSyncType())
	read, err := readHistory(piece, func(c *waHistorySync.Conversation) error { return k.part(ctx, c) })
	h.messages, h.stored, h.kept = read.messages, k.stored, k.any
	return h, err
}

// pieceFile is a piece of history as it is compressed.
type pieceFile interface {
	io.ReadSeeker
	Close() error
}

// openPiece fetches a piece into a file that has no name any more, unless the
// notice itself has it.
func (s *Session) openPiece(ctx context.Context, notice *waE2E.HistorySyncNotification) (pieceFile, error) {
	if data := notice.GetInitialHistBootstrapInlinePayload(); data != nil {
		return inlinePiece(data), nil
	}
	f, err := os.CreateTemp(s.conn.cfg.TempDir, "history-*")
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	_ = os.Remove(f.Name())
	err = s.fetch(ctx, notice, f, maxHistoryFile)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("download: %w", err)
	}
	return f, nil
}

// learnPair stores both addresses of whom a conversation is with.
func (s *Session) learnPair(ctx context.Context, cli *whatsmeow.Client, c *waHistorySync.Conversation) {
	id, err := types.ParseJID(c.GetID())
	if err != nil {
		return
	}
	for _, text := range []string{c.GetLidJID(), c.GetPnJID()} {
		if other, err := types.ParseJID(text); err == nil && text != "" {
			cli.StoreLIDPNMapping(ctx, id.ToNonAD(), other.ToNonAD())
		}
	}
}

// learn stores what the library keeps of a history, in functions that it offers
// only so.
func (s *Session) learn(ctx context.Context, cli *whatsmeow.Client, rest *waHistorySync.HistorySync) {
	inside := cli.DangerousInternals() //nolint:staticcheck // "deprecated" warns of changes; the version is pinned
	if err := inside.StoreNCTSalt(ctx, rest.GetNctSalt()); err != nil {
		s.log.Warn("salt of the history not stored", "error", err)
	}
	inside.StoreHistoricalPNLIDMappings(ctx, rest.GetPhoneNumberToLidMappings())
	if rest.GetSyncType() == waHistorySync.HistorySync_PUSH_NAME {
		inside.HandleHistoricalPushNames(ctx, rest.GetPushnames())
	}
	if rest.GlobalSettings != nil {
		inside.StoreGlobalSettings(ctx, rest.GetGlobalSettings())
	}
	if rest.CompanionMetaNonce != nil {
		inside.StoreCompanionMetaNonce(ctx, rest.GetCompanionMetaNonce())
	}
}

// historyKey is what a piece of history that a call asked for is known by.
func historyKey(request string) string { return changeKey("history", request) }

// AskHistory implements instance.Chats.
func (s *Session) AskHistory(ctx context.Context, anchor event.MessageKey, at time.Time, count int) error {
	id := NewMessageID()
	forget := s.causes.expect(ctx, historyPatience, historyKey(id))
	err := s.ask(ctx, "ask for history", func(ctx context.Context, cli *whatsmeow.Client) error {
		chat, err := wireChat(cli, anchor.RemoteJID)
		if err != nil {
			return err
		}
		info := &types.MessageInfo{ID: anchor.ID, Timestamp: at, MessageSource: types.MessageSource{Chat: chat, IsFromMe: anchor.FromMe}}
		return tellPhone(ctx, cli, id, cli.BuildHistorySyncRequest(info, count))
	})
	if err != nil && !errors.Is(err, event.ErrNoAnswer) {
		forget() // else it may have left
	}
	return err
}
