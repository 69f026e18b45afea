package event

import (
	"fmt"
	"slices"
	"strings"
)

// Profile is what an account shows of itself.
type Profile struct {
	JID        string  `json:"jid"`
	LID        *string `json:"lid"`
	Name       string  `json:"name" doc:"The name that people see who do not know the account." example:"Shop"`
	About      *string `json:"about" doc:"The text that the account shows about itself; null when there is none." example:"Open until six"`
	PictureID  *string `json:"pictureId"`
	PictureURL *string `json:"pictureUrl" doc:"The URL of the picture, for some days; null when there is none." example:"https://pps.whatsapp.net/v/t61/1.jpg"`
}

// Limits of a profile, in characters.
const (
	MaxProfileName  = 25
	MaxProfileAbout = 139
)

// Privacy is who sees what of an account.
type Privacy struct {
	GroupAdd     string `json:"groupAdd,omitempty" doc:"Who may add the account to groups." example:"contacts"`
	LastSeen     string `json:"lastSeen,omitempty" doc:"Who sees when it was online." example:"contacts"`
	Status       string `json:"status,omitempty" doc:"Who sees the text about itself." example:"all"`
	Profile      string `json:"profile,omitempty" doc:"Who sees its picture." example:"all"`
	ReadReceipts string `json:"readReceipts,omitempty" doc:"Whether others see what it has read." example:"all"`
	Online       string `json:"online,omitempty" doc:"Who sees that it is online." example:"match_last_seen"`
	CallAdd      string `json:"callAdd,omitempty" doc:"Who may call it." example:"all"`
}

// PrivacySetting is one field of a Privacy.
type PrivacySetting struct {
	Name    string   // of the field
	Wire    string   // WhatsApp's name
	Allowed []string // values that can be set; others may be shown
	Of      func(*Privacy) *string
}

// PrivacySettings lists the fields of a Privacy.
func PrivacySettings() []PrivacySetting {
	people := []string{"all", "contacts", "none"}
	return []PrivacySetting{
		{"groupAdd", "groupadd", people, func(p *Privacy) *string { return &p.GroupAdd }},
		{"lastSeen", "last", people, func(p *Privacy) *string { return &p.LastSeen }},
		{"status", "status", people, func(p *Privacy) *string { return &p.Status }},
		{"profile", "profile", people, func(p *Privacy) *string { return &p.Profile }},
		{"readReceipts", "readreceipts", []string{"all", "none"}, func(p *Privacy) *string { return &p.ReadReceipts }},
		{"online", "online", []string{"all", "match_last_seen"}, func(p *Privacy) *string { return &p.Online }},
		{"callAdd", "calladd", []string{"all", "known"}, func(p *Privacy) *string { return &p.CallAdd }},
	}
}

// Check returns an error if there is nothing to set, or a value that cannot be set. It wraps ErrArgument.
func (p *Privacy) Check() error {
	given := false
	for _, s := range PrivacySettings() {
		value := *s.Of(p)
		if value == "" {
			continue
		}
		given = true
		if !slices.Contains(s.Allowed, value) {
			return fmt.Errorf("%w: %s is %.40q and can be set to: %s", ErrArgument, s.Name, value, strings.Join(s.Allowed, ", "))
		}
	}
	if !given {
		return fmt.Errorf("%w: give at least one setting", ErrArgument)
	}
	return nil
}

// SettingsType is the "type" of settings.update.
type SettingsType string

// The types of settings.update.
const (
	SettingPushName       SettingsType = "push.name"
	SettingUserStatusMute SettingsType = "user.status.mute"
)

func (SettingsType) values() []string { return list(SettingPushName, SettingUserStatusMute) }

// SettingsChange is the data of settings.update.
type SettingsChange struct {
	Type SettingsType `json:"type" doc:"What happened."`
	JID  string       `json:"jid,omitempty"`
	// with SettingPushName
	Name         string `json:"name,omitempty" doc:"The new name of the account." example:"Ada"`
	Muted        *bool  `json:"muted,omitempty"` // with SettingUserStatusMute
	FromFullSync bool   `json:"fromFullSync"`
	DateTime     Time   `json:"dateTime"`
}

func (SettingsChange) about() About { return About{} }
