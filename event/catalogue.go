package event

import "reflect"

// Kind is the external name of an event, as in the envelope's "event" field
// and the x-webhook-event header, for example "messages.upsert".
type Kind string

// Flag is a key of the "events" object of an instance's webhook configuration.
type Flag string

// Family decides the envelope and the destinations of an event.
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
// all; the record is stored before the event is created.
type Gate string

// The gates, by the name of their environment variable.
const (
	NoGate            Gate = ""
	GateContacts      Gate = "DATABASE_SAVE_DATA_CONTACTS"
	GateMessageUpdate Gate = "DATABASE_SAVE_MESSAGE_UPDATE"
	GateNewMessage    Gate = "DATABASE_SAVE_DATA_NEW_MESSAGE"
)

// Descriptor is one row of the catalogue: all that follows from the name of an event.
type Descriptor struct {
	Kind   Kind
	Family Family
	Flag   Flag // empty for batch events
	Gate   Gate
	Array  bool // data is an array, not an object
	Number byte // in the data file; it never changes and is never given again

	// Triggers cause an instance event: events of the client library by their type, or a
	// step of the program itself. Batch events come from the batch state table.
	Triggers []string

	payload payload
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

// IsCredential reports whether the data of the event is a credential: a code of
// qrcode.updated links a phone to the instance. Pairing codes are in no event, and the
// codes that are compared for a passkey link nothing by themselves.
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

// catalogue has one row for each event. CONTRIBUTING.md says what follows from a new one.
var catalogue = [...]Descriptor{
	instanceEvent[Call](1, CallUpsert, "callUpsert", callExamples, "CallOffer", "CallAccept", "CallOfferNotice", "CallPreAccept", "CallTerminate", "CallReject", "UnknownCallEvent"),
	instanceEvent[ChatDelete](2, ChatsDelete, "chatsDeleted", chatDeleteExamples, "DeleteChat"),
	instanceEvent[ChatUpdate](3, ChatsUpdated, "chatsUpdated", chatUpdateExamples, "Blocklist", "BlocklistChange", "Archive", "UnarchiveChatsSetting", "ClearChat", "Pin", "Mute", "MarkChatAsRead"),
	instanceEvent[ConnectionUpdate](
		4, ConnectionUpdated, "connectionUpdated", connectionExamples,
		"PairSuccess", "PairError", "Connected", "Disconnected", "LoggedOut", "StreamReplaced", "KeepAliveTimeout", "KeepAliveRestored",
		"ConnectFailure", "ManualLoginReconnect", "StreamError", "CATRefreshError", "PairPasskeyRequest", "PairPasskeyConfirmation",
	),
	arrayEvent[ContactUpdate](5, ContactsUpdate, "contactsUpdated", contactUpdateExamples, "PushName", "BusinessName").gated(GateContacts),
	instanceEvent[ContactUpsert](6, ContactsUpsert, "contactsUpsert", contactUpsertExamples, "Contact").gated(GateContacts),
	instanceEvent[GroupParticipantsUpdate](7, GroupsParticipantsEvent, "groupsParticipantsUpdated", groupParticipantsExamples, "GroupInfo"),
	arrayEvent[GroupUpdate](8, GroupsUpdate, "groupsUpdated", groupUpdateExamples, "GroupInfo"),
	arrayEvent[GroupUpsert](9, GroupsUpsert, "groupsUpsert", groupUpsertExamples, "JoinedGroup"),
	instanceEvent[HistoryUpdate](10, HistorySync, "historySync", historyExamples, "HistorySync"),
	instanceEvent[IdentityChange](11, IdentityUpdate, "identityUpdated", identityExamples, "IdentityChange"),
	instanceEvent[LabelAssociation](12, LabelsAssociation, "labelsAssociation", labelAssociationExamples, "LabelAssociationChat", "LabelAssociationMessage"),
	instanceEvent[LabelEdit](13, LabelsEdit, "labelsEdit", labelEditExamples, "LabelEdit"),
	instanceEvent[MediaAnswer](14, MediaRetry, "mediaRetry", mediaRetryExamples, "MediaRetry"),
	instanceEvent[MessageDelete](15, MessagesDelete, "messagesDeleted", messageDeleteExamples, "DeleteForMe"),
	instanceEvent[MessageStar](16, MessagesStar, "messagesStarred", messageStarExamples, "Star"),
	instanceEvent[MessageUndecryptable](17, MessagesUndecryptable, "messagesUndecryptable", undecryptableExamples, "UndecryptableMessage"),
	instanceEvent[MessageUpdate](18, MessagesUpdate, "messagesUpdated", messageUpdateExamples, "Receipt").gated(GateMessageUpdate),
	instanceEvent[Message](19, MessagesUpsert, "messagesUpsert", messageExamples, "Message", "FBMessage").gated(GateNewMessage),
	instanceEvent[NewsletterUpdate](20, NewsLetter, "newsLetter", newsletterExamples, "NewsletterJoin", "NewsletterLeave", "NewsletterLiveUpdate", "NewsletterMessageMeta", "NewsletterMuteChange"),
	instanceEvent[PresenceUpdate](21, PresenceUpdated, "presenceUpdated", presenceExamples, "ChatPresence", "Presence"),
	instanceEvent[PictureUpdate](22, ProfilePictureUpdate, "profilePictureUpdated", pictureExamples, "Picture"),
	instanceEvent[QRCode](23, QRCodeUpdated, "qrcodeUpdated", qrCodeExamples, "QR channel"),
	instanceEvent[Message](24, SendMessage, "sendMessage", sendExamples, "send route"),
	instanceEvent[SettingsChange](25, SettingsUpdate, "settingsUpdated", settingsExamples, "PushNameSetting", "UserStatusMute"),
	instanceEvent[InstanceStatus](
		26, StatusInstance, "statusInstance", instanceStatusExamples,
		"ClientOutdated", "TemporaryBan", "OfflineSyncPreview", "OfflineSyncCompleted", "PrivacySettings", "AppState",
		"AppStateSyncComplete", "AppStateSyncError", "NotifyAccountReachoutTimelock", "refused sends",
	),
	instanceEvent[AboutUpdate](27, UserAboutUpdate, "userAboutUpdated", aboutUpdateExamples, "UserAbout"),

	batchEvent(28, BatchCreated, BatchQueued),
	batchEvent(29, BatchScheduled, BatchIsScheduled),
	batchEvent(30, BatchStarted, BatchProcessing, "startedAt"),
	batchEvent(31, BatchWindowStarted, BatchQueued),
	batchEvent(32, BatchWaitingWindow, BatchWaitingForWindow),
	batchEvent(33, BatchRecovered, BatchQueued),
	batchEvent(34, BatchProgress, BatchProcessing, "currentItem", "startedAt"),
	batchEvent(35, BatchPauseRequested, BatchPauseAsked),
	batchEvent(36, BatchPaused, BatchIsPaused, "pausedAt"),
	batchEvent(37, BatchWaitingInstance, BatchWaitingForInstance),
	batchEvent(38, BatchResumed, BatchProcessing, "startedAt"),
	batchEvent(39, BatchStopRequested, BatchStopAsked),
	batchEvent(40, BatchStopped, BatchIsStopped, "stoppedAt"),
	batchEvent(41, BatchInterrupted, BatchIsInterrupted, "interruptedAt"),
	batchEvent(42, BatchCompleted, BatchIsCompleted, "completedAt"),
	batchEvent(43, BatchCompletedWithErrors, BatchIsWithErrors, "completedAt"),
	batchItemEvent(44, BatchItemFailed, SendMessageFailed),
	batchItemEvent(45, BatchItemUnknown, SendResultUnknown),
}

var byKind = func() map[Kind]*Descriptor {
	all := make(map[Kind]*Descriptor, len(catalogue))
	for i := range catalogue {
		all[catalogue[i].Kind] = &catalogue[i]
	}
	return all
}()

// Catalogue returns every event: those of instances, then those of batches, each
// family in a fixed order. The slice is the caller's own; the triggers are shared.
func Catalogue() []Descriptor { return append([]Descriptor(nil), catalogue[:]...) }

// Lookup returns the row of kind, and false when there is no such event.
func Lookup(kind Kind) (Descriptor, bool) {
	if d := byKind[kind]; d != nil {
		return *d, true
	}
	return Descriptor{}, false
}

// KnownFlag reports whether f is the flag of an instance event.
func KnownFlag(f Flag) bool {
	for i := range catalogue {
		if catalogue[i].Flag == f && f != "" {
			return true
		}
	}
	return false
}

// payload describes the data of an event.
type payload struct {
	data     reflect.Type // an item's type where data is an array
	examples func() []Example

	// Batch events only.
	status BatchStatus // that the event announces
	own    []string    // fields of the batch that no other event has
	code   string      // of the error, for the events of one item
}

// instanceEvent is the row of an instance event with data T. The method about of T
// returns the chat or person that the event concerns.
func instanceEvent[T subject](number byte, kind Kind, flag Flag, examples func() []Example, triggers ...string) Descriptor {
	return Descriptor{
		Kind: kind, Family: Instance, Flag: flag, Number: number, Triggers: triggers,
		payload: payload{data: reflect.TypeFor[T](), examples: examples},
	}
}

// arrayEvent is the row of an instance event whose data is an array of T.
func arrayEvent[T subject](number byte, kind Kind, flag Flag, examples func() []Example, triggers ...string) Descriptor {
	d := instanceEvent[T](number, kind, flag, examples, triggers...)
	d.Array = true
	return d
}

// gated is d for an event that exists only while the setting of g is on.
func (d Descriptor) gated(g Gate) Descriptor {
	d.Gate = g
	return d
}

// batchEvent is the row of an event that announces a status of a batch. own are the
// fields of [BatchView] that the event has besides those that all have.
func batchEvent(number byte, kind Kind, status BatchStatus, own ...string) Descriptor {
	return Descriptor{
		Kind: kind, Family: Batch, Number: number,
		payload: payload{data: reflect.TypeFor[BatchData](), examples: func() []Example { return batchExamples(kind, status) }, status: status, own: own},
	}
}

// batchItemEvent is the row of an event about an item of a batch that ended with an
// error.
func batchItemEvent(number byte, kind Kind, code string) Descriptor {
	return Descriptor{
		Kind: kind, Family: Batch, Number: number,
		payload: payload{data: reflect.TypeFor[BatchItemData](), examples: func() []Example { return batchItemExamples(code) }, code: code},
	}
}
