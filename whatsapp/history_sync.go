package whatsapp

import (
	"compress/flate"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waHistorySync"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/proto"

	"postern/event"
	"postern/whatsapp/translate"
)

const (
	maxHistoryFile = 1 << 30 // bytes of a piece, compressed

	// A piece is tried historyTries times on one connection, with a pause after each
	// failure. The next login tries again.
	historyTries = 3
	historyPause = 30 * time.Second
)

// historyNotice returns the notice that a phone has a piece of history for this device,
// nil if evt is another message.
func historyNotice(evt *events.Message) *waE2E.HistorySyncNotification {
	if !evt.Info.IsFromMe {
		return nil
	}
	return evt.Message.GetProtocolMessage().GetHistorySyncNotification()
}

// historySync stores the history that the account's phone sends, and reports it.
type historySync struct {
	conn  *connection
	calls *calls
	files *Files
	facts *reporter
	pause time.Duration // between two tries of a piece

	reading sync.Mutex // held while a piece is read
}

// keepNotice stores a notice before it is acknowledged: the phone sends it once.
func (hs *historySync) keepNotice(cli *whatsmeow.Client, id string, notice *waE2E.HistorySyncNotification) error {
	asked := historyKey(notice.GetPeerDataRequestSessionID())
	raw, err := proto.Marshal(notice)
	if err == nil {
		err = hs.conn.cfg.Devices.KeepNotice(context.Background(), hs.conn.instance, id, hs.calls.causes.of(asked), raw)
	}
	if err != nil {
		return fmt.Errorf("a notice of history could not be stored: %w", err)
	}
	hs.calls.causes.take(asked)
	hs.takeHistory(cli, id)
	return nil
}

// takeHistories reads the pieces that earlier connections left unread.
func (hs *historySync) takeHistories(cli *whatsmeow.Client) {
	ids, err := hs.conn.cfg.Devices.Notices(hs.conn.instance)
	if err != nil {
		hs.conn.log.Warn("notices of history not read", "error", err)
	}
	for _, id := range ids {
		hs.takeHistory(cli, id)
	}
}

// takeHistory reads a piece of history in the background, one at a time, and reports
// it. The library would hold the whole piece in memory, several times; takeHistory
// reads it in parts.
func (hs *historySync) takeHistory(cli *whatsmeow.Client, id string) {
	life := hs.conn.lifetime()
	if life == nil {
		return
	}
	hs.conn.background.Go(func() {
		hs.reading.Lock()
		defer hs.reading.Unlock()
		for try := 1; life.Err() == nil; try++ {
			err := hs.takePiece(life, cli, id)
			if err == nil || life.Err() != nil {
				return
			}
			if try == historyTries {
				hs.conn.log.Warn("history not read; it is retried after the next login", "error", err)
				return
			}
			select {
			case <-time.After(hs.pause):
			case <-life.Done():
			}
		}
	})
}

// takePiece reads the piece of a stored notice and reports it, which deletes the
// notice. It returns an error if a retry may help.
func (hs *historySync) takePiece(ctx context.Context, cli *whatsmeow.Client, id string) error {
	raw, requestID, err := hs.conn.cfg.Devices.Notice(hs.conn.instance, id)
	if err != nil || raw == nil {
		return err
	}
	notice := &waE2E.HistorySyncNotification{}
	if err := proto.Unmarshal(raw, notice); err != nil {
		err = fmt.Errorf("%w: notice: %w", errHistory, err)
		return hs.losePiece(ctx, id, notice, err)
	}
	h, err := hs.readPiece(ctx, cli, notice)
	if err != nil {
		return hs.losePiece(ctx, id, notice, err)
	}
	f := event.Fact{Kind: event.HistorySync, Data: hs.conn.translator(cli).History(h), RequestID: requestID, Notice: id}
	if err := hs.facts.report(context.WithoutCancel(ctx), f); err != nil {
		return fmt.Errorf("report history: %w", err)
	}
	if notice.InitialHistBootstrapInlinePayload == nil {
		err := cli.DeleteMedia(ctx, whatsmeow.MediaHistory, notice.GetDirectPath(), notice.GetFileEncSHA256(), notice.GetEncHandle())
		if err != nil {
			hs.conn.log.Debug("history not deleted from the server", "error", err)
		}
	}
	return nil
}

// losePiece deletes the notice of an unreadable piece. If a retry may help, it only
// returns the cause.
func (hs *historySync) losePiece(ctx context.Context, id string, notice *waE2E.HistorySyncNotification, cause error) error {
	if !hopeless(cause) {
		return cause
	}
	hs.conn.log.Warn("history is unreadable and was discarded", "sync_type", notice.GetSyncType().String(), "error", cause)
	return hs.conn.cfg.Devices.DropNotice(context.WithoutCancel(ctx), hs.conn.instance, id)
}

// hopeless reports whether reading a piece again would fail in the same way.
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

// readPiece reads a piece twice: the names of people, which messages need, come after
// the conversations.
func (hs *historySync) readPiece(ctx context.Context, cli *whatsmeow.Client, notice *waE2E.HistorySyncNotification) (translate.History, error) {
	piece, err := hs.openPiece(ctx, notice)
	if err != nil {
		return translate.History{}, err
	}
	defer func() { _ = piece.Close() }()
	h, err := readHistoryHeads(piece, func(c *waHistorySync.Conversation) { hs.learnPair(ctx, cli, c) })
	if err != nil {
		return h, err
	}
	hs.learn(ctx, cli, h.Rest)
	if _, err := piece.Seek(0, io.SeekStart); err != nil {
		return h, fmt.Errorf("history: %w", err)
	}
	k := hs.newKeeping(cli, h.Rest.GetSyncType())
	read, err := readHistory(piece, func(c *waHistorySync.Conversation) error { return k.part(ctx, c) })
	h.Messages, h.Stored, h.Kept = read.Messages, k.stored, k.any
	return h, err
}

// pieceFile is a compressed piece of history.
type pieceFile interface {
	io.ReadSeeker
	Close() error
}

// openPiece downloads a piece into an unlinked file, unless the notice contains it.
func (hs *historySync) openPiece(ctx context.Context, notice *waE2E.HistorySyncNotification) (pieceFile, error) {
	if data := notice.GetInitialHistBootstrapInlinePayload(); data != nil {
		return inlinePiece(data), nil
	}
	f, err := os.CreateTemp(hs.conn.cfg.TempDir, "history-*")
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	_ = os.Remove(f.Name())
	err = hs.files.fetch(ctx, notice, f, maxHistoryFile)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("download: %w", err)
	}
	return f, nil
}

// learnPair stores both addresses of the person of a conversation.
func (hs *historySync) learnPair(ctx context.Context, cli *whatsmeow.Client, c *waHistorySync.Conversation) {
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

// learn stores the settings that the library would take from history. It exports these
// functions only in this way.
func (hs *historySync) learn(ctx context.Context, cli *whatsmeow.Client, rest *waHistorySync.HistorySync) {
	inside := cli.DangerousInternals() //nolint:staticcheck // "deprecated" warns of changes; the version is pinned
	if err := inside.StoreNCTSalt(ctx, rest.GetNctSalt()); err != nil {
		hs.conn.log.Warn("salt of history not stored", "error", err)
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
