package network

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waCompanionReg"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/gcmutil"
	"go.mau.fi/whatsmeow/util/hkdfutil"
	"google.golang.org/protobuf/proto"

	"postern/sandbox/network/wire"
	"postern/sandbox/phone"
)

// passkeyLink is a link that waits for the passkey's signature and the steps after it.
// The server's mutex guards it.
type passkeyLink struct {
	phone      *phone.Phone
	scanned    []byte // the secret of the scanned code
	challenge  []byte
	ref        string
	companion  *waCompanionReg.CompanionEphemeralIdentity
	identity   []byte // of the companion, encoded, covered by the commitment
	commitment []byte
	ephemeral  *ecdh.PrivateKey
	nonce      []byte
	committed  bool // the companion's nonce matches its commitment
}

var errPasskey = errIQ{403, "forbidden"}

// askPasskey requests the account's passkey from a client whose code was scanned. The
// caller holds s.mu.
func (s *Server) askPasskey(p *phone.Phone, c *conn, a *account, scanned []byte) {
	link := &passkeyLink{phone: p, scanned: scanned, challenge: make([]byte, 32), ref: randomRef()}
	_, _ = rand.Read(link.challenge) // crypto/rand never fails
	c.passkey = link
	options, err := json.Marshal(map[string]any{
		"challenge": base64.RawURLEncoding.EncodeToString(link.challenge), "timeout": 60_000, "rpId": relyingParty,
		"allowCredentials": []map[string]any{
			{"id": base64.RawURLEncoding.EncodeToString(a.passkey.id), "type": "public-key", "transports": []string{"hybrid", "internal"}},
		},
		"userVerification": "required", "extensions": map[string]any{},
	})
	if err != nil {
		c.log.Error("a passkey's challenge cannot be encoded", "error", err)
		return
	}
	c.send(unpairedNotification("passkey_prologue_request", waBinary.Node{Tag: "passkey_request_options", Content: options}))
}

func unpairedNotification(kind string, child waBinary.Node) waBinary.Node {
	return waBinary.Node{Tag: "notification", Content: []waBinary.Node{child}, Attrs: waBinary.Attrs{
		"from": types.ServerJID, "type": kind, "id": phone.MessageID(), "t": time.Now().Unix(),
	}}
}

// passkeyRequest answers the requests of a client in such a link. ok is false for other
// requests.
func (s *Server) passkeyRequest(c *conn, n *waBinary.Node) (answer waBinary.Node, ok bool, err error) {
	child := wire.FirstChild(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	link := c.passkey
	if link == nil || wire.Attr(n, "xmlns") != "md" {
		return answer, false, nil
	}
	switch child.Tag {
	case "ref":
		return waBinary.Node{Tag: "ref", Content: []byte(link.ref)}, true, nil
	case "passkey_prologue":
		return answer, true, s.prologue(c, link, child)
	case "companion_nonce":
		return answer, true, s.companionNonce(link, wire.Content(child))
	case "encrypted_pairing_request":
		return answer, true, s.finishPasskey(c, link, wire.Content(child))
	default:
		return answer, false, nil
	}
}

// prologue checks the passkey's signature and that the client is the one whose code was
// scanned, and sends the phone's ephemeral key.
func (s *Server) prologue(c *conn, link *passkeyLink, n waBinary.Node) error {
	a := s.accountOf(link.phone.LID())
	if a == nil || a.passkey == nil || a.passkey.refuse {
		return errPasskey
	}
	assertion := n.GetChildByTag("webauthn_assertion")
	if err := a.passkey.verify(wire.Content(assertion), link.challenge); err != nil {
		c.log.Info("passkey refused", "error", err)
		return errPasskey
	}
	raw := n.GetChildByTag("prologue_payload")
	proof := n.GetChildByTag("pairing_handoff_proof")
	if len(wire.Content(proof)) > 0 && !link.scannedBy(wire.Content(raw), wire.Content(proof)) {
		return errPasskey
	}
	if err := link.begin(wire.Content(raw)); err != nil {
		return err
	}
	if a.passkey.compare && len(wire.Content(proof)) > 0 {
		// The client omits the proof in a second answer, and then has its user
		// compare a code; so this one is rejected.
		return nil
	}
	return link.proceed(c)
}

// scannedBy reports whether payload comes from the client whose code was scanned.
func (l *passkeyLink) scannedBy(payload, proof []byte) bool {
	handoff := hmac.New(sha256.New, hkdfutil.SHA256(l.scanned, nil, []byte("shortcake-passkey-handoff-v1"), 32))
	handoff.Write(payload)
	return hmac.Equal(handoff.Sum(nil), proof)
}

// begin stores the client's ephemeral identity and its commitment to it.
func (l *passkeyLink) begin(raw []byte) error {
	var payload waCompanionReg.ProloguePayload
	var companion waCompanionReg.CompanionEphemeralIdentity
	if proto.Unmarshal(raw, &payload) != nil || proto.Unmarshal(payload.GetCompanionEphemeralIdentity(), &companion) != nil ||
		companion.GetRef() != l.ref || len(companion.GetPublicKey()) != 32 {
		return errIQ{400, "bad-request"}
	}
	l.companion, l.committed = &companion, false
	l.identity, l.commitment = payload.GetCompanionEphemeralIdentity(), payload.GetCommitment().GetHash()
	return nil
}

// proceed answers with the phone's ephemeral identity.
func (l *passkeyLink) proceed(c *conn) error {
	ephemeral, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("passkey: %w", err)
	}
	l.ephemeral, l.nonce = ephemeral, make([]byte, 32)
	_, _ = rand.Read(l.nonce) // crypto/rand never fails
	ours, err := proto.Marshal(&waCompanionReg.PrimaryEphemeralIdentity{PublicKey: ephemeral.PublicKey().Bytes(), Nonce: l.nonce})
	if err != nil {
		return fmt.Errorf("passkey: %w", err)
	}
	c.send(unpairedNotification("crsc_continuation", waBinary.Node{Tag: "primary_ephemeral_identity", Content: ours}))
	return nil
}

func (s *Server) companionNonce(link *passkeyLink, nonce []byte) error {
	if err := link.checkNonce(nonce); err != nil {
		return err
	}
	if a := s.accountOf(link.phone.LID()); a != nil && a.passkey != nil {
		a.passkey.code = link.code(nonce)
	}
	return nil
}

func (l *passkeyLink) checkNonce(nonce []byte) error {
	sum := sha256.Sum256(append(slices.Clone(l.identity), nonce...))
	if l.ephemeral == nil || !bytes.Equal(sum[:], l.commitment) {
		return errPasskey
	}
	l.committed = true
	return nil
}

// code returns what both sides show to their user: five bytes that neither could choose
// alone. nonce is the client's.
func (l *passkeyLink) code(nonce []byte) string {
	digest := sha256.Sum256(append(slices.Clone(nonce), l.ephemeral.PublicKey().Bytes()...))
	raw := make([]byte, 5)
	for i := range raw {
		raw[i] = l.nonce[i] ^ digest[i]
	}
	text := base32.NewEncoding("123456789ABCDEFGHJKLMNPQRSTVWXYZ").EncodeToString(raw)
	return text[:4] + "-" + text[4:]
}

// finishPasskey reads the client's keys and completes the link.
func (s *Server) finishPasskey(c *conn, link *passkeyLink, raw []byte) error {
	if !link.committed {
		return errPasskey
	}
	var wrapped waCompanionReg.EncryptedPairingRequest
	if proto.Unmarshal(raw, &wrapped) != nil || len(wrapped.GetIV()) != 12 {
		return errIQ{400, "bad-request"}
	}
	theirs, err := ecdh.X25519().NewPublicKey(link.companion.GetPublicKey())
	if err != nil {
		return errPasskey
	}
	shared, err := link.ephemeral.ECDH(theirs)
	if err != nil {
		return errPasskey
	}
	salt := fmt.Sprintf("Companion Pairing %d with ref %s", link.companion.GetDeviceType(), link.ref)
	key := hkdfutil.SHA256(shared, []byte(salt), []byte("Pairing Information Encryption Key"), 32)
	plain, err := gcmutil.Decrypt(key, wrapped.GetIV(), wrapped.GetEncryptedPayload(), nil)
	if err != nil {
		return errPasskey
	}
	var request waCompanionReg.PairingRequest
	if proto.Unmarshal(plain, &request) != nil || !bytes.Equal(request.GetCompanionPublicKey(), c.noise[:]) ||
		!bytes.Equal(request.GetCompanionIdentityKey(), c.registered.Identity[:]) {
		return errPasskey
	}
	c.passkey = nil
	c.tasks.Go(func() { // it waits for the client, whose stanzas this goroutine reads
		if err := s.pair(link.phone, c, request.GetAdvSecret()); err != nil {
			c.log.Info("link by passkey failed", "error", err)
		}
	})
	return nil
}
