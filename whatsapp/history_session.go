package whatsapp

import (
	"bytes"
	"context"
	"fmt"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waHistorySync"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// historyNotice is the notice that a phone has a piece of history for this
// device, nil in any other message.
func historyNotice(evt *events.Message) *waE2E.HistorySyncNotification {
	if !evt.Info.IsFromMe {
		return nil
	}
	return evt.Message.GetProtocolMessage().GetHistorySyncNotification()
}

// takeHistory reads a piece of history in the background, one after the other,
// and tells of it. The library would read it too, whole and several times in
// memory; here it is read in parts. A piece that fails is logged and lost, as
// the phone does not offer it again.
func (s *Session) takeHistory(cli *whatsmeow.Client, notice *waE2E.HistorySyncNotification) {
	s.mu.Lock()
	life := s.life
	s.mu.Unlock()
	if life == nil {
		return
	}
	s.background.Go(func() {
		s.reading.Lock()
		defer s.reading.Unlock()
		h, err := s.readPiece(life, cli, notice)
		if life.Err() != nil {
			return
		}
		if err != nil {
			s.log.Warn("history not read", "sync_type", notice.GetSyncType().String(), "error", err)
			return
		}
		s.tell(event.Fact{Kind: event.HistorySync, Data: s.translator(cli).history(h)})
	})
}

func (s *Session) readPiece(ctx context.Context, cli *whatsmeow.Client, notice *waE2E.HistorySyncNotification) (history, error) {
	// The library keeps parts of a history for itself, in functions that it
	// offers only so.
	inside := cli.DangerousInternals() //nolint:staticcheck // "deprecated" warns of changes; the version is pinned
	data := notice.GetInitialHistBootstrapInlinePayload()
	inline := data != nil
	if !inline {
		var err error
		if data, err = cli.Download(ctx, notice); err != nil {
			return history{}, fmt.Errorf("download: %w", err)
		}
	}
	h, err := readHistory(bytes.NewReader(data), func(c *waHistorySync.Conversation) {
		if ctx.Err() == nil {
			inside.StoreHistoricalMessageSecrets(ctx, []*waHistorySync.Conversation{c})
		}
	})
	if err != nil {
		return h, err
	}
	if err := inside.StoreNCTSalt(ctx, h.rest.GetNctSalt()); err != nil {
		s.log.Warn("salt of the history not stored", "error", err)
	}
	inside.StoreHistoricalPNLIDMappings(ctx, h.rest.GetPhoneNumberToLidMappings())
	if h.rest.GetSyncType() == waHistorySync.HistorySync_PUSH_NAME {
		inside.HandleHistoricalPushNames(ctx, h.rest.GetPushnames())
	}
	if h.rest.GlobalSettings != nil {
		inside.StoreGlobalSettings(ctx, h.rest.GetGlobalSettings())
	}
	if h.rest.CompanionMetaNonce != nil {
		inside.StoreCompanionMetaNonce(ctx, h.rest.GetCompanionMetaNonce())
	}
	if !inline {
		err := cli.DeleteMedia(ctx, whatsmeow.MediaHistory, notice.GetDirectPath(), notice.GetFileEncSHA256(), notice.GetEncHandle())
		if err != nil {
			s.log.Debug("history not deleted from the server", "error", err)
		}
	}
	return h, nil
}
