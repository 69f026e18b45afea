package sandbox

import (
	"context"
	"encoding/base64"

	"postern/sandbox/network"
	"postern/sandbox/phone"
)

type passkeyFields struct {
	Remove  bool `json:"remove" help:"the account no longer requires a passkey"`
	Refuse  bool `json:"refuse" help:"every signature is rejected"`
	Compare bool `json:"compare" help:"the first signature has no effect; after the second one a code must be compared"`
}

func actPasskey(_ context.Context, s *network.Server, p *phone.Phone, f passkeyFields) (any, error) {
	if f.Remove {
		return nil, s.SetPasskey(p.JID(), nil)
	}
	key, err := network.NewPasskey(f.Refuse, f.Compare)
	if err != nil {
		return nil, err
	}
	return nil, s.SetPasskey(p.JID(), key)
}

type assertFields struct {
	Challenge string `json:"challenge" help:"the challenge in publicKey of the passkey challenge"`
}

// passkeyOf returns the phone's passkey, an error if it has none.
func passkeyOf(s *network.Server, p *phone.Phone) (*network.Passkey, error) {
	key, _, err := s.PasskeyOf(p.JID())
	if err != nil {
		return nil, err
	}
	if key == nil {
		return nil, invalidField("do", "needs a passkey; the act passkey makes one")
	}
	return key, nil
}

func actPasskeyCredential(_ context.Context, s *network.Server, p *phone.Phone, _ struct{}) (any, error) {
	key, err := passkeyOf(s, p)
	if err != nil {
		return nil, err
	}
	return key.Credential()
}

func actPasskeyAssert(_ context.Context, s *network.Server, p *phone.Phone, f assertFields) (any, error) {
	key, err := passkeyOf(s, p)
	if err != nil {
		return nil, err
	}
	if _, err := base64.RawURLEncoding.DecodeString(f.Challenge); err != nil || f.Challenge == "" {
		return nil, invalidField("challenge", "is not base64url without padding")
	}
	return key.Assert(f.Challenge)
}

type passkeyCode struct {
	Code string `json:"code"`
}

func actPasskeyCode(_ context.Context, s *network.Server, p *phone.Phone, _ struct{}) (any, error) {
	_, code, err := s.PasskeyOf(p.JID())
	if err != nil {
		return nil, err
	}
	if code == "" {
		return nil, invalidField("do", "needs a link that waits for a code to be compared")
	}
	return passkeyCode{code}, nil
}
