package sandbox

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waVnameCert"
	"google.golang.org/protobuf/proto"
)

// profile is what an account shows of itself and has set for itself. The
// server's mutex guards it; it is saved with the account.
type profile struct {
	About    *string           `json:"about,omitempty"` // nil: never set
	Picture  string            `json:"picture,omitempty"`
	Business string            `json:"business,omitempty"`
	Blocked  []string          `json:"blocked,omitempty"` // numbers
	Privacy  map[string]string `json:"privacy,omitempty"` // what differs from "all"
}

func (p *profile) about() string {
	if p.About == nil {
		return "In the sandbox"
	}
	return *p.About
}

// businessNode is the name that a business shows with its messages, nil for
// an account that is none. Clients do not check who signed it.
func (p *profile) businessNode() *waBinary.Node {
	if p.Business == "" {
		return nil
	}
	details, err := proto.Marshal(&waVnameCert.VerifiedNameCertificate_Details{
		Serial: new(uint64(1)), Issuer: new("smb:wa"), VerifiedName: new(p.Business),
	})
	if err != nil {
		return nil
	}
	cert, err := proto.Marshal(&waVnameCert.VerifiedNameCertificate{Details: details})
	if err != nil {
		return nil
	}
	return &waBinary.Node{Tag: "verified_name", Content: cert, Attrs: waBinary.Attrs{
		"verified_level": "unknown", "v": "1", "host_storage": "1", "actual_actors": "1", "privacy_mode_ts": "1700000000",
	}}
}

// privacyNames are the settings that clients know, by their name on the wire.
func privacyNames() []string {
	return []string{
		"groupadd", "last", "status", "profile", "readreceipts", "online", "calladd", "messages", "defense", "stickers",
	}
}

func (p *profile) privacy(name string) string {
	if value, ok := p.Privacy[name]; ok {
		return value
	}
	return "all"
}

func (p *profile) setPrivacy(name, value string) {
	changed := maps.Clone(p.Privacy)
	if changed == nil {
		changed = map[string]string{}
	}
	changed[name] = value
	p.Privacy = changed
}

// block changes the list of blocked numbers.
func (p *profile) block(number string, blocked bool) {
	kept := slices.DeleteFunc(slices.Clone(p.Blocked), func(n string) bool { return n == number })
	if blocked {
		kept = append(kept, number)
	}
	p.Blocked = kept
}

// blockHash changes with the list.
func (p *profile) blockHash() string {
	sum := sha256.Sum256([]byte(strings.Join(p.Blocked, ",")))
	return "2:" + base64.RawStdEncoding.EncodeToString(sum[:6])
}
