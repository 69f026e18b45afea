package network

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waVnameCert"
	"google.golang.org/protobuf/proto"
)

// profile is what an account shows and its settings. The server's mutex guards it; it
// is saved with the account.
type profile struct {
	About    *string            `json:"about,omitempty"` // nil: never set
	Picture  string             `json:"picture,omitempty"`
	Business string             `json:"business,omitempty"`
	Blocked  []string           `json:"blocked,omitempty"`  // numbers
	Privacy  map[string]string  `json:"privacy,omitempty"`  // chosen values, by the setting's name
	Channels map[string]channel `json:"channels,omitempty"` // followed channels, by number

	StatusType  string   `json:"statusType,omitempty"`  // who sees its statuses: contacts, blacklist or whitelist; empty: contacts
	StatusUsers []string `json:"statusUsers,omitempty"` // the numbers of that list

	LockedUntil time.Time         `json:"lockedUntil,omitzero"` // it may not write to strangers until then
	Heard       map[string]bool   `json:"heard,omitempty"`      // people who wrote to it, by number
	Tokens      map[string][]byte `json:"tokens,omitempty"`     // of people who allow it to write, by number
}

func (p *profile) about() string {
	if p.About == nil {
		return "In the sandbox"
	}
	return *p.About
}

// businessNode is the name that a business shows with its messages, nil for other
// accounts. Clients do not check its signature.
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

// business is the answer to a look-up; nothing for other accounts.
func (p *profile) business() []waBinary.Node {
	name := p.businessNode()
	if name == nil {
		return nil
	}
	return []waBinary.Node{{Tag: "business", Content: []waBinary.Node{*name}}}
}

// privacySetting is one setting with its name on the wire. The first value is the
// default.
type privacySetting struct {
	name   string
	values []string
}

func privacySettings() []privacySetting {
	shown := []string{"all", "contacts", "contact_blacklist", "none"}
	return []privacySetting{
		{"groupadd", shown},
		{"last", shown},
		{"status", shown},
		{"profile", shown},
		{"readreceipts", []string{"all", "none"}},
		{"online", []string{"all", "match_last_seen"}},
		{"calladd", []string{"all", "known"}},
		{"messages", []string{"all", "contacts"}},
		{"defense", []string{"off", "on_standard"}},
		{"stickers", []string{"contacts", "contact_allowlist", "none"}},
	}
}

// PrivacyNames lists the names of the privacy settings on the wire.
func PrivacyNames() []string {
	var names []string
	for _, setting := range privacySettings() {
		names = append(names, setting.name)
	}
	return names
}

// PrivacyValues lists the values of a setting; nothing for an unknown one.
func PrivacyValues(name string) []string {
	for _, setting := range privacySettings() {
		if setting.name == name {
			return setting.values
		}
	}
	return nil
}

func (p *profile) privacy(setting privacySetting) string {
	if value, ok := p.Privacy[setting.name]; ok {
		return value
	}
	return setting.values[0]
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
