package event

// Kind is the external name of an event, as in the envelope's "event" field
// and the x-webhook-event header, for example "messages.upsert".
type Kind string

// Flag is a key of the "events" object of an instance's webhook configuration.
type Flag string

// Family tells which envelope and which destinations an event has.
type Family int

// The two families.
const (
	// Instance events go to the instance's webhook, when its flag is set, and
	// to the global webhook.
	Instance Family = iota
	// Batch events go to the global webhook only, through the outbox.
	Batch
)

// Gate names the persistence setting that must be on for an event to exist at
// all; the record is stored before the event is made.
type Gate string

// The gates, by the name of their environment variable.
const (
	NoGate            Gate = ""
	GateContacts      Gate = "DATABASE_SAVE_DATA_CONTACTS"
	GateMessageUpdate Gate = "DATABASE_SAVE_MESSAGE_UPDATE"
	GateNewMessage    Gate = "DATABASE_SAVE_DATA_NEW_MESSAGE"
)

// Descriptor is one row of the catalogue.
type Descriptor struct {
	Kind   Kind
	Family Family
	Flag   Flag // empty for batch events
	Gate   Gate
	Array  bool // data is an array, not an object
}

// The instance events.
const (
	CallUpsert              Kind = "call.upsert"
	ChatsDelete             Kind = "chats.delete"
	ChatsUpdated            Kind = "chats.updated"
	ConnectionUpdated       Kind = "connection.update"
	ContactsUpdate          Kind = "contacts.update"
	ContactsUpsert          Kind = "contacts.upsert"
	GroupsParticipantsEvent Kind = "groups.participants.update"
	GroupsUpdate            Kind = "groups.update"
	GroupsUpsert            Kind = "groups.upsert"
	HistorySync             Kind = "history.sync"
	IdentityUpdate          Kind = "identity.update"
	LabelsAssociation       Kind = "labels.association"
	LabelsEdit              Kind = "labels.edit"
	MediaRetry              Kind = "media.retry"
	MessagesDelete          Kind = "messages.delete"
	MessagesStar            Kind = "messages.star"
	MessagesUndecryptable   Kind = "messages.undecryptable"
	MessagesUpdate          Kind = "messages.update"
	MessagesUpsert          Kind = "messages.upsert"
	NewsLetter              Kind = "news.letter"
	PresenceUpdated         Kind = "presence.updated"
	ProfilePictureUpdate    Kind = "profile.picture.update"
	QRCodeUpdated           Kind = "qrcode.updated"
	SendMessage             Kind = "send.message"
	SettingsUpdate          Kind = "settings.update"
	StatusInstance          Kind = "status.instance"
	UserAboutUpdate         Kind = "user.about.update"
)

// IsCredential reports whether the data of the event is one: with a code of
// qrcode.updated anybody links a phone to the instance. Pairing codes and the codes
// that are compared for a passkey are not: the first are in no event, and the second
// link nothing by themselves.
func (k Kind) IsCredential() bool { return k == QRCodeUpdated }

// The batch events.
const (
	BatchCreated             Kind = "message.batch.created"
	BatchScheduled           Kind = "message.batch.scheduled"
	BatchStarted             Kind = "message.batch.started"
	BatchWindowStarted       Kind = "message.batch.window-started"
	BatchWaitingWindow       Kind = "message.batch.waiting-window"
	BatchRecovered           Kind = "message.batch.recovered"
	BatchProgress            Kind = "message.batch.progress"
	BatchPauseRequested      Kind = "message.batch.pause-requested"
	BatchPaused              Kind = "message.batch.paused"
	BatchWaitingInstance     Kind = "message.batch.waiting-instance"
	BatchResumed             Kind = "message.batch.resumed"
	BatchStopRequested       Kind = "message.batch.stop-requested"
	BatchStopped             Kind = "message.batch.stopped"
	BatchInterrupted         Kind = "message.batch.interrupted"
	BatchCompleted           Kind = "message.batch.completed"
	BatchCompletedWithErrors Kind = "message.batch.completed-with-errors"
	BatchItemFailed          Kind = "message.batch.item.failed"
	BatchItemUnknown         Kind = "message.batch.item.unknown"
)

var catalogue = [...]Descriptor{
	{Kind: CallUpsert, Flag: "callUpsert"},
	{Kind: ChatsDelete, Flag: "chatsDeleted"},
	{Kind: ChatsUpdated, Flag: "chatsUpdated"},
	{Kind: ConnectionUpdated, Flag: "connectionUpdated"},
	{Kind: ContactsUpdate, Flag: "contactsUpdated", Gate: GateContacts, Array: true},
	{Kind: ContactsUpsert, Flag: "contactsUpsert", Gate: GateContacts},
	{Kind: GroupsParticipantsEvent, Flag: "groupsParticipantsUpdated"},
	{Kind: GroupsUpdate, Flag: "groupsUpdated", Array: true},
	{Kind: GroupsUpsert, Flag: "groupsUpsert", Array: true},
	{Kind: HistorySync, Flag: "historySync"},
	{Kind: IdentityUpdate, Flag: "identityUpdated"},
	{Kind: LabelsAssociation, Flag: "labelsAssociation"},
	{Kind: LabelsEdit, Flag: "labelsEdit"},
	{Kind: MediaRetry, Flag: "mediaRetry"},
	{Kind: MessagesDelete, Flag: "messagesDeleted"},
	{Kind: MessagesStar, Flag: "messagesStarred"},
	{Kind: MessagesUndecryptable, Flag: "messagesUndecryptable"},
	{Kind: MessagesUpdate, Flag: "messagesUpdated", Gate: GateMessageUpdate},
	{Kind: MessagesUpsert, Flag: "messagesUpsert", Gate: GateNewMessage},
	{Kind: NewsLetter, Flag: "newsLetter"},
	{Kind: PresenceUpdated, Flag: "presenceUpdated"},
	{Kind: ProfilePictureUpdate, Flag: "profilePictureUpdated"},
	{Kind: QRCodeUpdated, Flag: "qrcodeUpdated"},
	{Kind: SendMessage, Flag: "sendMessage"},
	{Kind: SettingsUpdate, Flag: "settingsUpdated"},
	{Kind: StatusInstance, Flag: "statusInstance"},
	{Kind: UserAboutUpdate, Flag: "userAboutUpdated"},
	{Kind: BatchCreated, Family: Batch},
	{Kind: BatchScheduled, Family: Batch},
	{Kind: BatchStarted, Family: Batch},
	{Kind: BatchWindowStarted, Family: Batch},
	{Kind: BatchWaitingWindow, Family: Batch},
	{Kind: BatchRecovered, Family: Batch},
	{Kind: BatchProgress, Family: Batch},
	{Kind: BatchPauseRequested, Family: Batch},
	{Kind: BatchPaused, Family: Batch},
	{Kind: BatchWaitingInstance, Family: Batch},
	{Kind: BatchResumed, Family: Batch},
	{Kind: BatchStopRequested, Family: Batch},
	{Kind: BatchStopped, Family: Batch},
	{Kind: BatchInterrupted, Family: Batch},
	{Kind: BatchCompleted, Family: Batch},
	{Kind: BatchCompletedWithErrors, Family: Batch},
	{Kind: BatchItemFailed, Family: Batch},
	{Kind: BatchItemUnknown, Family: Batch},
}

// Catalogue returns every event: the 27 of instances, then the 18 of batches,
// each family in a fixed order. The slice is the caller's own.
func Catalogue() []Descriptor { return append([]Descriptor(nil), catalogue[:]...) }

// Lookup returns the row of kind, and false when there is no such event.
func Lookup(kind Kind) (Descriptor, bool) {
	for _, d := range catalogue {
		if d.Kind == kind {
			return d, true
		}
	}
	return Descriptor{}, false
}

// KnownFlag reports whether f is the flag of an instance event.
func KnownFlag(f Flag) bool {
	for _, d := range catalogue {
		if d.Flag == f && f != "" {
			return true
		}
	}
	return false
}
