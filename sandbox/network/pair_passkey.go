package network

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
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

// relyingParty is the relying party of the network's passkeys.
const relyingParty = "whatsapp.com"

// Passkey protects an account: linking a device requires its signature. It does not
// survive a restart.
type Passkey struct {
	id      []byte
	key     *ecdsa.PrivateKey
	refuse  bool   // reject every signature
	compare bool   // a link ends with the comparison of a code
	code    string // the code that the phone shows, empty before; the server's mutex guards it
}

// NewPasskey creates a passkey. refuse rejects every signature; compare ignores a first
// signature and requires the comparison of a code after a second one.
func NewPasskey(refuse, compare bool) (*Passkey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a passkey: %w", err)
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // crypto/rand never fails
	return &Passkey{id: id, key: key, refuse: refuse, compare: compare}, nil
}

// SetPasskey protects an account; nil removes the protection. Errors: ErrClosed,
// phone.ErrNoAccount.
func (s *Server) SetPasskey(of types.JID, key *Passkey) error {
	return s.with(of, func(a *account) { a.passkey = key })
}

// PasskeyOf returns an account's passkey, nil if it has none, and the code that its
// phone shows for comparison, if any. Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) PasskeyOf(of types.JID) (key *Passkey, code string, err error) {
	err = s.with(of, func(a *account) {
		if key = a.passkey; key != nil {
			code = key.code
		}
	})
	return key, code, err
}

// Credential is a passkey in the form for virtual authenticators of browsers, for tests
// of pages. Its parts are base64, the key in PKCS #8.
type Credential struct {
	ID         string `json:"credentialId"`
	Party      string `json:"rpId"`
	PrivateKey string `json:"privateKey"`
}

// Credential returns the passkey itself: its holder can sign.
func (k *Passkey) Credential() (Credential, error) {
	key, err := x509.MarshalPKCS8PrivateKey(k.key)
	if err != nil {
		return Credential{}, fmt.Errorf("a passkey's key: %w", err)
	}
	encode := base64.StdEncoding.EncodeToString
	return Credential{ID: encode(k.id), Party: relyingParty, PrivateKey: encode(key)}, nil
}

// Assertion is an authenticator's answer in WebAuthn's JSON.
type Assertion struct {
	ID       string            `json:"id"`
	RawID    string            `json:"rawId"`
	Type     string            `json:"type"`
	Response assertionResponse `json:"response"`
}

type assertionResponse struct {
	ClientDataJSON    string  `json:"clientDataJSON"`
	AuthenticatorData string  `json:"authenticatorData"`
	Signature         string  `json:"signature"`
	UserHandle        *string `json:"userHandle"`
}

var errAssertion = errors.New("the assertion is not the passkey's")

// verify checks an assertion like a relying party.
func (k *Passkey) verify(raw, challenge []byte) error {
	var a Assertion
	if err := json.Unmarshal(raw, &a); err != nil {
		return fmt.Errorf("assertion: %w", err)
	}
	decode := base64.RawURLEncoding.DecodeString
	id, err1 := decode(a.RawID)
	client, err2 := decode(a.Response.ClientDataJSON)
	data, err3 := decode(a.Response.AuthenticatorData)
	signature, err4 := decode(a.Response.Signature)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return fmt.Errorf("assertion: %w", err)
	}
	var said struct{ Type, Challenge string }
	if err := json.Unmarshal(client, &said); err != nil {
		return fmt.Errorf("client data: %w", err)
	}
	party := sha256.Sum256([]byte(relyingParty))
	signed := sha256.Sum256(append(slices.Clone(data), sum(client)...))
	if !bytes.Equal(id, k.id) || said.Type != "webauthn.get" || said.Challenge != base64.RawURLEncoding.EncodeToString(challenge) ||
		!bytes.HasPrefix(data, party[:]) || !ecdsa.VerifyASN1(&k.key.PublicKey, signed[:], signature) {
		return errAssertion
	}
	return nil
}

func sum(raw []byte) []byte {
	s := sha256.Sum256(raw)
	return s[:]
}

// Assert returns the answer of the phone's authenticator to a challenge, in base64url.
func (k *Passkey) Assert(challenge string) (Assertion, error) {
	client, err := json.Marshal(map[string]any{
		"type": "webauthn.get", "challenge": challenge, "origin": "https://web." + relyingParty, "crossOrigin": false,
	})
	if err != nil {
		return Assertion{}, err
	}
	data := binary.BigEndian.AppendUint32(append(sum([]byte(relyingParty)), 0x05), uint32(time.Now().Unix())) // user present and verified
	signed := sha256.Sum256(append(slices.Clone(data), sum(client)...))
	signature, err := ecdsa.SignASN1(rand.Reader, k.key, signed[:])
	if err != nil {
		return Assertion{}, err
	}
	encode := base64.RawURLEncoding.EncodeToString
	return Assertion{
		ID: encode(k.id), RawID: encode(k.id), Type: "public-key",
		Response: assertionResponse{ClientDataJSON: encode(client), AuthenticatorData: encode(data), Signature: encode(signature)},
	}, nil
}

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
