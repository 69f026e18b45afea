package sandbox

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
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
)

// relyingParty is whom passkeys of the network are for.
const relyingParty = "whatsapp.com"

// passkey protects an account: linking a device needs its signature. It does
// not survive a restart.
type passkey struct {
	id  []byte
	key *ecdsa.PrivateKey
}

// passkeyLink is a link that waits for the passkey's signature and what
// follows. The server's mutex guards it.
type passkeyLink struct {
	phone      *Phone
	scanned    []byte // the secret of the scanned code
	challenge  []byte
	ref        string
	companion  *waCompanionReg.CompanionEphemeralIdentity
	identity   []byte // companion, encoded, as the commitment covers it
	commitment []byte
	ephemeral  *ecdh.PrivateKey
	committed  bool // the companion's nonce fits its commitment
}

var errPasskey = errIQ{403, "forbidden"}

// askPasskey asks a client whose code was scanned for the account's passkey.
// The caller holds s.mu.
func (s *Server) askPasskey(p *Phone, c *conn, a *account, scanned []byte) {
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
		"from": types.ServerJID, "type": kind, "id": messageID(), "t": time.Now().Unix(),
	}}
}

// passkeyRequest answers the requests of a client in such a link. ok is false
// for any other request.
func (s *Server) passkeyRequest(c *conn, n *waBinary.Node) (answer waBinary.Node, ok bool, err error) {
	child := firstChild(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	link := c.passkey
	if link == nil || attr(n, "xmlns") != "md" {
		return answer, false, nil
	}
	switch child.Tag {
	case "ref":
		return waBinary.Node{Tag: "ref", Content: []byte(link.ref)}, true, nil
	case "passkey_prologue":
		return answer, true, s.prologue(c, link, child)
	case "companion_nonce":
		return answer, true, link.checkNonce(content(child))
	case "encrypted_pairing_request":
		return answer, true, s.finishPasskey(c, link, content(child))
	default:
		return answer, false, nil
	}
}

// prologue checks the passkey's signature and that the client is the one whose
// code was scanned, and hands out the phone's ephemeral key.
func (s *Server) prologue(c *conn, link *passkeyLink, n waBinary.Node) error {
	a := s.accountOf(link.phone.LID())
	if a == nil || a.passkey == nil {
		return errPasskey
	}
	assertion := n.GetChildByTag("webauthn_assertion")
	if err := a.passkey.verify(content(assertion), link.challenge); err != nil {
		c.log.Info("passkey refused", "error", err)
		return errPasskey
	}
	raw := n.GetChildByTag("prologue_payload")
	proof := n.GetChildByTag("pairing_handoff_proof")
	handoff := hmac.New(sha256.New, hkdfutil.SHA256(link.scanned, nil, []byte("shortcake-passkey-handoff-v1"), 32))
	handoff.Write(content(raw))
	if len(content(proof)) > 0 && !hmac.Equal(handoff.Sum(nil), content(proof)) {
		return errPasskey
	}
	var payload waCompanionReg.ProloguePayload
	link.companion = &waCompanionReg.CompanionEphemeralIdentity{}
	if proto.Unmarshal(content(raw), &payload) != nil || proto.Unmarshal(payload.GetCompanionEphemeralIdentity(), link.companion) != nil ||
		link.companion.GetRef() != link.ref || len(link.companion.GetPublicKey()) != 32 {
		return errIQ{400, "bad-request"}
	}
	link.identity, link.commitment = payload.GetCompanionEphemeralIdentity(), payload.GetCommitment().GetHash()
	ephemeral, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("passkey: %w", err)
	}
	link.ephemeral = ephemeral
	nonce := make([]byte, 32)
	_, _ = rand.Read(nonce) // crypto/rand never fails
	ours, err := proto.Marshal(&waCompanionReg.PrimaryEphemeralIdentity{PublicKey: ephemeral.PublicKey().Bytes(), Nonce: nonce})
	if err != nil {
		return fmt.Errorf("passkey: %w", err)
	}
	c.send(unpairedNotification("crsc_continuation", waBinary.Node{Tag: "primary_ephemeral_identity", Content: ours}))
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

// finishPasskey reads the client's keys and completes the link with them.
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
	c.tasks.Go(func() { // it waits for the client, whose reader this is
		if err := s.pair(link.phone, c, request.GetAdvSecret()); err != nil {
			c.log.Info("link by passkey failed", "error", err)
		}
	})
	return nil
}

// assertion is an authenticator's answer, as WebAuthn's JSON has it.
type assertion struct {
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

// verify checks an assertion as a relying party does.
func (k *passkey) verify(raw, challenge []byte) error {
	var a assertion
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

// assert is what the authenticator of the phone's user answers.
func (k *passkey) assert(challenge string) (assertion, error) {
	client, err := json.Marshal(map[string]any{
		"type": "webauthn.get", "challenge": challenge, "origin": "https://web." + relyingParty, "crossOrigin": false,
	})
	if err != nil {
		return assertion{}, err
	}
	data := binary.BigEndian.AppendUint32(append(sum([]byte(relyingParty)), 0x05), uint32(time.Now().Unix())) // user present and verified
	signed := sha256.Sum256(append(slices.Clone(data), sum(client)...))
	signature, err := ecdsa.SignASN1(rand.Reader, k.key, signed[:])
	if err != nil {
		return assertion{}, err
	}
	encode := base64.RawURLEncoding.EncodeToString
	return assertion{
		ID: encode(k.id), RawID: encode(k.id), Type: "public-key",
		Response: assertionResponse{ClientDataJSON: encode(client), AuthenticatorData: encode(data), Signature: encode(signature)},
	}, nil
}

type passkeyFields struct {
	Remove bool `json:"remove" help:"the account needs no passkey any more"`
}

func actPasskey(_ context.Context, s *Server, p *Phone, f passkeyFields) (any, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a passkey: %w", err)
	}
	return nil, s.onSessions(p, func(a *account) {
		a.passkey = nil
		if !f.Remove {
			a.passkey = &passkey{id: sum([]byte(p.Number() + time.Now().String()))[:16], key: key}
		}
	})
}

type assertFields struct {
	Challenge string `json:"challenge" help:"the challenge, as the publicKey of the passkey challenge has it"`
}

func actPasskeyAssert(_ context.Context, s *Server, p *Phone, f assertFields) (any, error) {
	var key *passkey
	if err := s.onSessions(p, func(a *account) { key = a.passkey }); err != nil {
		return nil, err
	}
	if key == nil {
		return nil, invalidField("do", "needs a passkey; the act passkey makes one")
	}
	if _, err := base64.RawURLEncoding.DecodeString(f.Challenge); err != nil || f.Challenge == "" {
		return nil, invalidField("challenge", "is not base64url without padding")
	}
	return key.assert(f.Challenge)
}
