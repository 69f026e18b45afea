package network

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waCompanionReg"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waHistorySync"
	"google.golang.org/protobuf/proto"

	"postern/sandbox/phone"
)

// recentDays is how much history a phone sends to a device that does not request more.
const recentDays = 90

// wishes is the history that a registering client requests.
type wishes struct {
	full bool // all of it
	days int  // of that; 0: no limit
}

func readWishes(props []byte) (w wishes) {
	var p waCompanionReg.DeviceProps
	if proto.Unmarshal(props, &p) == nil {
		w.full, w.days = p.GetRequireFullSync(), int(p.GetHistorySyncConfig().GetFullSyncDaysLimit())
	}
	return w
}

// SealHistory implements phone.Network.
func (s *Server) SealHistory(h *waHistorySync.HistorySync, file bool) (*waE2E.HistorySyncNotification, error) {
	raw, err := proto.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode history: %w", err)
	}
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, err = z.Write(raw)
	if closing := z.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, fmt.Errorf("compress history: %w", err)
	}
	kind := waE2E.HistorySyncType(h.GetSyncType())
	n := &waE2E.HistorySyncNotification{SyncType: &kind, Progress: h.Progress, ChunkOrder: h.ChunkOrder}
	return n, s.carry(n, packed.Bytes(), file)
}

// carry puts a compressed history into its notice, or stores it as media if it is long
// or must be a file.
func (s *Server) carry(n *waE2E.HistorySyncNotification, packed []byte, file bool) error {
	if !file && len(packed) <= maxInline {
		n.InitialHistBootstrapInlinePayload = packed
		return nil
	}
	sealed, err := s.media.Seal(packed, whatsmeow.MediaHistory)
	if err != nil {
		return err
	}
	n.MediaKey, n.DirectPath = sealed.Key, new(sealed.Path)
	n.FileSHA256, n.FileEncSHA256, n.FileLength = sealed.Hash, sealed.EncHash, new(sealed.Size)
	return nil
}

// sendPast is what a phone does when a newly linked device logs in: it sends the initial
// piece, for which clients wait before they read the state of the account, then its
// history of the last months, and then all that the device requested. The initial piece
// is always empty here; a phone without history sends nothing else.
func (s *Server) sendPast(ctx context.Context, p *phone.Phone, device uint16) error {
	s.mu.Lock()
	d := s.accountOf(p.LID()).devices[device]
	if d == nil || d.greeted {
		s.mu.Unlock()
		return nil
	}
	d.greeted = true
	w, to := d.wishes, d.lid()
	s.mu.Unlock()
	initial := &waHistorySync.HistorySync{
		SyncType: waHistorySync.HistorySync_INITIAL_BOOTSTRAP.Enum(), Progress: new(uint32(100)), ChunkOrder: new(uint32(1)),
	}
	if err := p.SendHistory(ctx, to, initial, ""); err != nil {
		return err
	}
	now := time.Now()
	h := p.Past(waHistorySync.HistorySync_RECENT, now.AddDate(0, 0, -recentDays))
	if h == nil {
		return nil
	}
	err := p.SendHistory(ctx, to, h, "")
	if err != nil || !w.full {
		return err
	}
	since := time.Time{}
	if w.days > 0 {
		since = now.AddDate(0, 0, -w.days)
	}
	return p.SendHistory(ctx, to, p.Past(waHistorySync.HistorySync_FULL, since), "")
}
