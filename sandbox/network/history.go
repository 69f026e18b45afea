package network

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waCompanionReg"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waHistorySync"
	"go.mau.fi/whatsmeow/proto/waWeb"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"postern/sandbox/phone"
)

const (
	// maxInline is the largest piece of history inside the message itself.
	maxInline = 64 << 10
	// Field numbers of the parts written one by one.
	conversationsField, pushNamesField, messagesField = 2, 7, 2
)

// History describes a piece of history to generate.
type History struct {
	Kind                    waE2E.HistorySyncType
	Conversations, Messages int    // messages in each conversation
	Progress                uint32 // percent
	Chunk                   uint32 // the number of this piece
	Blob                    bool   // as a download even if it is small
}

// writeTo encodes the history message by message: the library's structs of 50 000
// messages take a hundred megabytes, their bytes a few.
func (h History) writeTo(w io.Writer) error {
	kind := waHistorySync.HistorySync_HistorySyncType(h.Kind)
	head, err := proto.Marshal(&waHistorySync.HistorySync{SyncType: &kind, Progress: new(h.Progress), ChunkOrder: new(h.Chunk)})
	if err != nil {
		return fmt.Errorf("encode history: %w", err)
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	start := time.Now().Add(-time.Duration(h.Messages) * time.Second)
	for i := range h.Conversations {
		chat := types.NewJID(fmt.Sprintf("5599%08d1", i), types.DefaultUserServer)
		conversation, err := h.conversation(chat, start)
		if err != nil {
			return err
		}
		name, err := proto.Marshal(&waHistorySync.Pushname{ID: new(chat.String()), Pushname: new(fmt.Sprintf("Contact %d", i+1))})
		if err != nil {
			return fmt.Errorf("encode name: %w", err)
		}
		piece := protowire.AppendBytes(protowire.AppendTag(nil, conversationsField, protowire.BytesType), conversation)
		piece = protowire.AppendBytes(protowire.AppendTag(piece, pushNamesField, protowire.BytesType), name)
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

func (h History) conversation(chat types.JID, start time.Time) ([]byte, error) {
	encoded, err := proto.Marshal(&waHistorySync.Conversation{
		ID: new(chat.String()), ConversationTimestamp: new(uint64(start.Unix() + int64(h.Messages))),
	})
	if err != nil {
		return nil, fmt.Errorf("encode conversation: %w", err)
	}
	for i := range h.Messages {
		message, err := proto.Marshal(&waHistorySync.HistorySyncMsg{MsgOrderID: new(uint64(i)), Message: &waWeb.WebMessageInfo{
			Key: &waCommon.MessageKey{
				RemoteJID: new(chat.String()), FromMe: new(i%2 == 1), ID: new(fmt.Sprintf("3AHISTORY%s%08d", chat.User, i)),
			},
			MessageTimestamp: new(uint64(start.Unix() + int64(i))),
			Message:          &waE2E.Message{Conversation: new(fmt.Sprintf("message %d of the past", i+1))},
		}})
		if err != nil {
			return nil, fmt.Errorf("encode message: %w", err)
		}
		encoded = protowire.AppendBytes(protowire.AppendTag(encoded, messagesField, protowire.BytesType), message)
	}
	return encoded, nil
}

// notification encodes the history and stores it as media if it is long.
func (s *Server) historyNotification(h History) (*waE2E.HistorySyncNotification, error) {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if err := h.writeTo(z); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("compress history: %w", err)
	}
	n := &waE2E.HistorySyncNotification{SyncType: &h.Kind, Progress: new(h.Progress), ChunkOrder: new(h.Chunk)}
	return n, s.carry(n, packed.Bytes(), h.Blob)
}

// SendHistory sends a piece of history to every linked device of a phone. Errors: those
// of phone.Phone.SendPeer, or of encoding.
func (s *Server) SendHistory(ctx context.Context, p *phone.Phone, h History) error {
	for _, d := range s.linkedDevices(p) {
		n, err := s.historyNotification(h)
		if err != nil {
			return err
		}
		err = p.SendPeer(ctx, d.LID, &waE2E.ProtocolMessage{
			Type: waE2E.ProtocolMessage_HISTORY_SYNC_NOTIFICATION.Enum(), HistorySyncNotification: n,
		})
		if err != nil {
			return fmt.Errorf("history for %s: %w", d.LID, err)
		}
	}
	return nil
}

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
