package sandbox

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"fmt"
)

type passkeyFields struct {
	Remove  bool `json:"remove" help:"the account needs no passkey any more"`
	Refuse  bool `json:"refuse" help:"every signature is refused"`
	Compare bool `json:"compare" help:"a first signature leads nowhere; after a second one a code has to be compared"`
}

func actPasskey(_ context.Context, s *Server, p *Phone, f passkeyFields) (any, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a passkey: %w", err)
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // crypto/rand never fails
	return nil, s.onSessions(p, func(a *account) {
		a.passkey = nil
		if !f.Remove {
			a.passkey = &passkey{id: id, key: key, refuse: f.Refuse, compare: f.Compare}
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

type passkeyCode struct {
	Code string `json:"code"`
}

func actPasskeyCode(_ context.Context, s *Server, p *Phone, _ struct{}) (any, error) {
	var shown string
	if err := s.onSessions(p, func(a *account) {
		if a.passkey != nil {
			shown = a.passkey.code
		}
	}); err != nil {
		return nil, err
	}
	if shown == "" {
		return nil, invalidField("do", "needs a link that waits for a code to be compared")
	}
	return passkeyCode{shown}, nil
}
