package sandbox

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waHistorySync"
	"go.mau.fi/whatsmeow/proto/waWeb"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/cbcutil"
	"go.mau.fi/whatsmeow/util/hkdfutil"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	// maxInline is how long a piece of history may be to travel in the message itself.
	maxInline = 64 << 10
	// Field numbers of what is written piece by piece.
	conversationsField, pushNamesField, messagesField = 2, 7, 2
)

// pastMessages describes a piece of history to make up.
type pastMessages struct {
	kind                    waE2E.HistorySyncType
	conversations, messages int // messages in each conversation
	progress, chunk         uint32
	blob                    bool // by a download even when it is small
}

// writeTo encodes the history. It is written message by message: the library's structs of
// 50 000 messages take a hundred megabytes, their bytes a few.
func (h pastMessages) writeTo(w io.Writer) error {
	kind := waHistorySync.HistorySync_HistorySyncType(h.kind)
	head, err := proto.Marshal(&waHistorySync.HistorySync{SyncType: &kind, Progress: new(h.progress), ChunkOrder: new(h.chunk)})
	if err != nil {
		return fmt.Errorf("encode history: %w", err)
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	start := time.Now().Add(-time.Duration(h.messages) * time.Second)
	for i := range h.conversations {
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

func (h pastMessages) conversation(chat types.JID, start time.Time) ([]byte, error) {
	encoded, err := proto.Marshal(&waHistorySync.Conversation{
		ID: new(chat.String()), ConversationTimestamp: new(uint64(start.Unix() + int64(h.messages))),
	})
	if err != nil {
		return nil, fmt.Errorf("encode conversation: %w", err)
	}
	for i := range h.messages {
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

// notification encodes the history and stores it as media when it is long.
func (s *Server) historyNotification(h pastMessages) (*waE2E.HistorySyncNotification, error) {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if err := h.writeTo(z); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("compress history: %w", err)
	}
	n := &waE2E.HistorySyncNotification{SyncType: &h.kind, Progress: new(h.progress), ChunkOrder: new(h.chunk)}
	if !h.blob && packed.Len() <= maxInline {
		n.InitialHistBootstrapInlinePayload = packed.Bytes()
		return n, nil
	}
	file, err := s.storeMedia(packed.Bytes(), whatsmeow.MediaHistory)
	if err != nil {
		return nil, err
	}
	n.MediaKey, n.DirectPath = file.key, new(file.path)
	n.FileSHA256, n.FileEncSHA256, n.FileLength = file.hash, file.sealedHash, new(file.size)
	return n, nil
}

// storedMedia is what a client needs to download and open a file.
type storedMedia struct {
	key, hash, sealedHash []byte
	path                  string
	size                  uint64
}

// storeMedia encrypts a file as a phone would and stores it.
func (s *Server) storeMedia(plain []byte, kind whatsmeow.MediaType) (storedMedia, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // crypto/rand never fails
	expanded := hkdfutil.SHA256(key, nil, []byte(kind), 112)
	sealed := bytes.NewBuffer(make([]byte, 0, len(plain)+64))
	hash, sealedHash, size, _, err := cbcutil.EncryptStream(expanded[16:48], expanded[:16], expanded[48:80], bytes.NewReader(plain), sealed)
	if err != nil {
		return storedMedia{}, fmt.Errorf("encrypt media: %w", err)
	}
	_, path := s.PutMedia(sealed.Bytes())
	return storedMedia{key: key, hash: hash, sealedHash: sealedHash, path: path, size: size}, nil
}

// sendHistory gives a piece of history to every linked device of a phone.
func (s *Server) sendHistory(ctx context.Context, p *Phone, h pastMessages) error {
	for _, d := range s.linkedDevices(p) {
		n, err := s.historyNotification(h)
		if err != nil {
			return err
		}
		err = p.sendPeer(ctx, d.lid, &waE2E.ProtocolMessage{
			Type: waE2E.ProtocolMessage_HISTORY_SYNC_NOTIFICATION.Enum(), HistorySyncNotification: n,
		})
		if err != nil {
			return fmt.Errorf("history for %s: %w", d.lid, err)
		}
	}
	return nil
}
