package whatsapp

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"testing"

	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waHistorySync"
	"go.mau.fi/whatsmeow/proto/waWeb"
	"google.golang.org/protobuf/proto"
)

func pieceOfHistory(chats, messages int) *waHistorySync.HistorySync {
	h := &waHistorySync.HistorySync{
		SyncType: waHistorySync.HistorySync_RECENT.Enum(), Progress: new(uint32(40)), ChunkOrder: new(uint32(2)),
		Pushnames: []*waHistorySync.Pushname{{ID: new("a"), Pushname: new("Anne")}},
	}
	for i := range chats {
		c := &waHistorySync.Conversation{ID: new(fmt.Sprintf("49%d@s.whatsapp.net", i)), UnreadCount: new(uint32(1))}
		for j := range messages {
			c.Messages = append(c.Messages, &waHistorySync.HistorySyncMsg{Message: &waWeb.WebMessageInfo{
				Key: &waCommon.MessageKey{ID: new("K")}, MessageSecret: fmt.Appendf(nil, "secret of %d in %d", j, i),
			}})
		}
		h.Conversations = append(h.Conversations, c)
	}
	return h
}

func compress(t testing.TB, raw []byte) io.Reader {
	t.Helper()
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	if _, err := z.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

func TestHistoryIsReadInPartsCompletely(t *testing.T) {
	for _, c := range []struct{ chats, messages, parts int }{{0, 0, 0}, {3, 0, 3}, {2, 199, 2}, {2, 200, 4}, {1, 450, 3}} {
		want := pieceOfHistory(c.chats, c.messages)
		raw, err := proto.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		parts, secrets := 0, map[string]bool{}
		h, err := readHistory(compress(t, raw), func(part *waHistorySync.Conversation) error {
			parts++
			if len(part.Messages) > historyStep || part.GetID() == "" {
				t.Errorf("a part of %q has %d messages", part.GetID(), len(part.Messages))
			}
			for _, m := range part.Messages {
				secrets[part.GetID()+string(m.GetMessage().GetMessageSecret())] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if h.Conversations != c.chats || h.Messages != c.chats*c.messages || parts != c.parts || len(secrets) != h.Messages {
			t.Errorf("%+v: %d conversations, %d messages, %d parts, %d secrets", c, h.Conversations, h.Messages, parts, len(secrets))
		}
		want.Conversations = nil
		if !proto.Equal(want, h.Rest) {
			t.Errorf("the other fields are %v, want %v", h.Rest, want)
		}
	}
}

func TestACutHistoryIsAnError(t *testing.T) {
	raw, err := proto.Marshal(pieceOfHistory(3, 5))
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(raw); n++ {
		whole := &waHistorySync.HistorySync{}
		_, err := readHistory(compress(t, raw[:n]), func(*waHistorySync.Conversation) error { return nil })
		if cut := proto.Unmarshal(raw[:n], whole) != nil; cut != (err != nil) {
			t.Errorf("%d of %d bytes: %v", n, len(raw), err)
		}
	}
	if _, err := readHistory(bytes.NewReader([]byte("not compressed")), nil); !errors.Is(err, zlib.ErrHeader) {
		t.Errorf("not compressed: %v", err)
	}
}

// FuzzReadHistory reads any input. The counts must match those of the protobuf library
// if that accepts it.
func FuzzReadHistory(f *testing.F) {
	raw, err := proto.Marshal(pieceOfHistory(2, 3))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte{})
	f.Add([]byte{0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, raw []byte) {
		messages := 0
		h, err := readHistory(compress(t, raw), func(c *waHistorySync.Conversation) error {
			messages += len(c.Messages)
			return nil
		})
		if err != nil {
			return
		}
		var whole waHistorySync.HistorySync
		if proto.Unmarshal(raw, &whole) != nil {
			return
		}
		want := 0
		for _, c := range whole.GetConversations() {
			want += len(c.GetMessages())
		}
		if n := len(whole.GetConversations()); h.Conversations != n || h.Messages != want || messages != want {
			t.Errorf("read %d and %d (%d handed on), want %d and %d", h.Conversations, h.Messages, messages, n, want)
		}
	})
}
