package event

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
