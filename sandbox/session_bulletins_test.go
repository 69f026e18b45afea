package sandbox

import (
	"context"
	"crypto/sha1"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waHistorySync"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	waLog "go.mau.fi/whatsmeow/util/log"

	"postern/sandbox/network"
)

// heard is a log that keeps the stanzas that the client library received.
type heard struct {
	waLog.Logger
	mu   sync.Mutex
	text []string
}

func (h *heard) Sub(string) waLog.Logger { return h }

func (h *heard) Debugf(text string, args ...any) {
	if len(args) != 1 {
		return
	}
	if n, ok := args[0].(*waBinary.Node); ok && text == "%s" {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.text = append(h.text, n.String())
	}
}

// index returns the place of the first stanza that contains part, -1 without one.
func (h *heard) index(part string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.IndexFunc(h.text, func(s string) bool { return strings.Contains(s, part) })
}

// last returns the place of the last stanza that contains part, -1 without one.
func (h *heard) last(part string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, text := range slices.Backward(h.text) {
		if strings.Contains(text, part) {
			return i
		}
	}
	return -1
}

func TestLoginSendsBulletinsOfTheServer(t *testing.T) {
	s := openServer(t, Config{})
	p := addPhone(t, s, "5511911111111")
	h := &heard{Logger: waLog.Noop}
	c := newLoggingClient(t, s, nil, h)
	c.pairByQR(p)
	eventually(t, "the bulletins", func() bool { return h.index("<offline ") >= 0 })
	for _, part := range []string{
		`<ib from="s.whatsapp.net"><edge_routing><routing_info>`, `<ib from="s.whatsapp.net"><offline_preview `, `<ib from="s.whatsapp.net"><offline `,
	} {
		if h.index(part) < 0 {
			t.Errorf("no %s in %s", part, h.text)
		}
	}
}

func TestStreamErrorIsFollowedByTheEnd(t *testing.T) {
	s := openServer(t, Config{})
	p := addPhone(t, s, "5511911111111")
	h := &heard{Logger: waLog.Noop}
	c := newLoggingClient(t, s, nil, h)
	c.pairByQR(p)
	// The client library reads on after this code; after 515 it closes the connection itself.
	if err := s.EndSessions(p.JID(), network.StreamError(503)); err != nil {
		t.Fatal(err)
	}
	failed := func() int { return h.index(`<stream:error code="503"`) }
	eventually(t, "the end of the stream", func() bool { return failed() >= 0 && h.last("<xmlstreamend") > failed() })
	if end := h.last("<xmlstreamend"); end != failed()+1 {
		t.Errorf("stream error %d, end %d: %s", failed(), end, h.text)
	}
}

func TestLatencyDelaysFirstStanzaAndPairing(t *testing.T) {
	const latency = 200 * time.Millisecond
	s := openServer(t, Config{Latency: latency})
	c := newClient(t, s, nil)
	c.connect() // returns after the handshake
	began := time.Now()
	wait(c, 1, every[*events.QR])
	if took := time.Since(began); took < latency/2 {
		t.Errorf("the first stanza came after %s", took)
	}
	p := addPhone(t, s, "5511911111111")
	began = time.Now()
	if err := p.Scan(t.Context(), wait(c, 1, every[*events.QR]).Codes[0]); err != nil {
		t.Fatal(err)
	}
	wait(c, 1, every[*events.Connected])
	if took := time.Since(began); took < 2*latency { // of the stream error and of the login
		t.Errorf("the pairing took %s", took)
	}
}

func TestFirstLoginGetsTheInitialHistory(t *testing.T) {
	s := openGiving(t, Config{})
	p := addPhone(t, s, "5511911111111")
	c := newClient(t, s, newStateDevice())
	c.pairByQR(p)
	first := wait(c, 1, every[*events.HistorySync])
	if first.Data.GetSyncType() != waHistorySync.HistorySync_INITIAL_BOOTSTRAP || first.Notification.InitialHistBootstrapInlinePayload == nil {
		t.Errorf("the first piece is %s", first.Data.GetSyncType())
	}
	s.Drop(p.Number())
	wait(c, 2, every[*events.Connected])
	c.sendText(p.JID(), "after the second login")
	if n := count(c, every[*events.HistorySync]); n != 1 {
		t.Errorf("%d pieces after the second login", n)
	}
}

// TestKeyDigestCoversTheUploadedKeys compares the hash with the keys that the client has.
func TestKeyDigestCoversTheUploadedKeys(t *testing.T) {
	_, p, c := paired(t)
	eventually(t, "uploaded keys", func() bool { return p != nil && len(digest(t, c).ids) > 0 })
	got := digest(t, c)
	hash := sha1.New()
	hash.Write(c.Store.IdentityKey.Pub[:])
	hash.Write(c.Store.SignedPreKey.Pub[:])
	hash.Write(c.Store.SignedPreKey.Signature[:])
	for _, id := range got.ids {
		key, err := c.Store.PreKeys.GetPreKey(context.Background(), id)
		if err != nil || key == nil {
			t.Fatalf("pre-key %d: %v", id, err)
		}
		hash.Write(key.Pub[:])
	}
	if string(hash.Sum(nil)) != got.hash {
		t.Error("the hash is not that of the client's keys")
	}
}

type keyDigest struct {
	ids  []uint32
	hash string
}

func digest(t *testing.T, c *client) (d keyDigest) {
	t.Helper()
	answer := ask(t, c, "encrypt", "digest")
	list := answer.GetChildByTag("digest", "list")
	for _, id := range list.GetChildren() {
		d.ids = append(d.ids, binary.BigEndian.Uint32(append([]byte{0}, id.Content.([]byte)...)))
	}
	hash := answer.GetChildByTag("digest", "hash")
	d.hash = string(hash.Content.([]byte))
	return d
}

func TestServerPropsAreAnswered(t *testing.T) {
	_, _, c := paired(t)
	props := ask(t, c, "abt", "props")
	node := props.GetChildByTag("props")
	if node.AttrGetter().String("hash") == "" || node.AttrGetter().String("protocol") != "1" {
		t.Errorf("answered %s", node.String())
	}
}

// ask sends a request of the library's own kind.
func ask(t *testing.T, c *client, namespace, child string) *waBinary.Node {
	t.Helper()
	return answered(t, c, waBinary.Node{
		Tag: "iq", Attrs: waBinary.Attrs{"xmlns": namespace, "type": "get", "to": types.ServerJID},
		Content: []waBinary.Node{{Tag: child}},
	})
}

func TestPrivacyTokenReachesTheContact(t *testing.T) {
	s := openServer(t, Config{})
	p, other := addPhone(t, s, "5511911111111"), addPhone(t, s, "5511922222222")
	c, h := newClient(t, s, nil), &heard{Logger: waLog.Noop}
	c.pairByQR(p)
	contact := newLoggingClient(t, s, nil, h)
	contact.pairByQR(other)
	c.sendText(other.JID(), "the first message")
	eventually(t, "the token", func() bool { return h.index(`type="privacy_token"`) >= 0 })
	h.mu.Lock()
	got := h.text[slices.IndexFunc(h.text, func(s string) bool { return strings.Contains(s, `type="privacy_token"`) })]
	h.mu.Unlock()
	for _, part := range []string{`from="5511911111111@s.whatsapp.net"`, `sender_lid="` + p.LID().String() + `"`, `<token jid="5511922222222@s.whatsapp.net"`, `type="trusted_contact"`} {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in %s", part, got)
		}
	}
}

// answered sends a stanza with an id of its own and returns what answers it.
func answered(t *testing.T, c *client, n waBinary.Node) *waBinary.Node {
	t.Helper()
	id := c.GenerateMessageID()
	n.Attrs["id"] = id
	internals := c.DangerousInternals() //nolint:staticcheck // "deprecated" warns of changes; the version is pinned
	answer := internals.WaitResponse(id)
	if err := internals.SendNode(context.Background(), n); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-answer:
		return got
	case <-time.After(patience):
		t.Fatalf("no answer to %s", n.String())
		return nil
	}
}

func TestCallsAreAcknowledged(t *testing.T) {
	s, _, c := paired(t)
	other := addPhone(t, s, "5511922222222")
	reject := answered(t, c, waBinary.Node{Tag: "call", Attrs: waBinary.Attrs{"to": other.LID()}, Content: []waBinary.Node{
		{Tag: "reject", Attrs: waBinary.Attrs{"call-id": "CALL1", "call-creator": other.LID(), "count": "0"}},
	}})
	if a := reject.AttrGetter(); reject.Tag != "ack" || a.String("class") != "call" || a.String("type") != "reject" || a.JID("from") != other.LID() {
		t.Errorf("answered %s", reject.String())
	}
	link := answered(t, c, waBinary.Node{Tag: "call", Attrs: waBinary.Attrs{"to": types.NewJID("", "call")}, Content: []waBinary.Node{
		{Tag: "link_create", Attrs: waBinary.Attrs{"media": "audio"}},
	}})
	made := link.GetChildByTag("link_create")
	if made.AttrGetter().String("token") == "" {
		t.Errorf("answered %s", link.String())
	}
}

func TestAccountSettingsReachTheOtherDevice(t *testing.T) {
	s, p, c := paired(t)
	h := &heard{Logger: waLog.Noop}
	second := newLoggingClient(t, s, nil, h)
	second.pairByQR(p)
	if err := c.SetDefaultDisappearingTimer(context.Background(), 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	answer := answered(t, c, waBinary.Node{Tag: "iq", Attrs: waBinary.Attrs{"xmlns": "status", "type": "set", "to": types.ServerJID}, Content: []waBinary.Node{
		{Tag: "status", Content: []byte("busy")},
	}})
	if kind := answer.AttrGetter().String("type"); kind != "result" {
		t.Fatalf("the about: %s", answer.String())
	}
	about := wait(second, 1, every[*events.UserAbout])
	if about.Status != "busy" {
		t.Errorf("the about is %q", about.Status)
	}
	if h.index(`<disappearing_mode duration="86400"`) < 0 {
		t.Errorf("no timer in %s", h.text)
	}
}

// TestSignedPreKeyIsRotated: a contact builds its session with the new key.
func TestSignedPreKeyIsRotated(t *testing.T) {
	s, p, c := paired(t)
	before := digest(t, c).hash
	next := c.Store.IdentityKey.CreateSignedPreKey(c.Store.SignedPreKey.KeyID + 1)
	id := binary.BigEndian.AppendUint32(nil, next.KeyID)[1:]
	answer := answered(t, c, waBinary.Node{Tag: "iq", Attrs: waBinary.Attrs{"xmlns": "encrypt", "type": "set", "to": types.ServerJID}, Content: []waBinary.Node{
		{Tag: "rotate", Content: []waBinary.Node{{Tag: "skey", Content: []waBinary.Node{
			{Tag: "id", Content: id}, {Tag: "value", Content: next.Pub[:]}, {Tag: "signature", Content: next.Signature[:]},
		}}}},
	}})
	if kind := answer.AttrGetter().String("type"); kind != "result" || digest(t, c).hash == before {
		t.Fatalf("answered %s", answer.String())
	}
	c.Store.SignedPreKey = next
	if _, err := addPhone(t, s, "5511922222222").SendText(t.Context(), p.JID(), "with the new key"); err != nil {
		t.Fatal(err)
	}
	wait(c, 1, isText("with the new key"))
}
