package event

// InstanceStatusType is the "type" of status.instance.
type InstanceStatusType string

// The types of status.instance.
const (
	StatusClientOutdated          InstanceStatusType = "client.outdated"
	StatusTemporaryBan            InstanceStatusType = "temporary.ban"
	StatusOfflineSyncPreview      InstanceStatusType = "offline.sync.preview"
	StatusOfflineSyncCompleted    InstanceStatusType = "offline.sync.completed"
	StatusPrivacySettings         InstanceStatusType = "privacy.settings"
	StatusAppState                InstanceStatusType = "app.state"
	StatusAppStateSyncCompleted   InstanceStatusType = "app.state.sync.completed"
	StatusAppStateSyncError       InstanceStatusType = "app.state.sync.error"
	StatusAccountReachoutTimelock InstanceStatusType = "account.reachout.timelock"
	StatusAccountRestricted       InstanceStatusType = "account.restricted" // shown by refusals; with the key "reason"
)

func (InstanceStatusType) values() []string {
	return list(StatusClientOutdated, StatusTemporaryBan, StatusOfflineSyncPreview, StatusOfflineSyncCompleted,
		StatusPrivacySettings, StatusAppState, StatusAppStateSyncCompleted, StatusAppStateSyncError,
		StatusAccountReachoutTimelock, StatusAccountRestricted)
}

// InstanceStatus is the data of status.instance.
type InstanceStatus struct {
	Type    InstanceStatusType `json:"type" doc:"What happened."`
	Status  string             `json:"status,omitempty" doc:"The state that it leads to." example:"ok"`
	Message string             `json:"message,omitempty" doc:"More about it, for people." example:"the client is outdated"`
	Data    Extra              `json:"data,omitempty"` // further fields of the source
	Extra   Extra              `json:"-"`
}

func (InstanceStatus) about() About { return About{} }

// MarshalJSON puts the extra keys behind the declared ones.
func (s InstanceStatus) MarshalJSON() ([]byte, error) {
	type plain InstanceStatus
	return flatten(plain(s), s.Extra)
}
