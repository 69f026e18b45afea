package event

import (
	"reflect"
	"slices"
)

// payloads are the types of data, an item's type where data is an array.
var payloads = map[Kind]reflect.Type{
	CallUpsert:              reflect.TypeFor[Call](),
	ChatsDelete:             reflect.TypeFor[ChatDelete](),
	ChatsUpdated:            reflect.TypeFor[ChatUpdate](),
	ConnectionUpdated:       reflect.TypeFor[ConnectionUpdate](),
	ContactsUpdate:          reflect.TypeFor[ContactUpdate](),
	ContactsUpsert:          reflect.TypeFor[ContactUpsert](),
	GroupsParticipantsEvent: reflect.TypeFor[GroupParticipantsUpdate](),
	GroupsUpdate:            reflect.TypeFor[GroupUpdate](),
	GroupsUpsert:            reflect.TypeFor[GroupUpsert](),
	HistorySync:             reflect.TypeFor[HistoryUpdate](),
	IdentityUpdate:          reflect.TypeFor[IdentityChange](),
	LabelsAssociation:       reflect.TypeFor[LabelAssociation](),
	LabelsEdit:              reflect.TypeFor[LabelEdit](),
	MediaRetry:              reflect.TypeFor[MediaAnswer](),
	MessagesDelete:          reflect.TypeFor[MessageDelete](),
	MessagesStar:            reflect.TypeFor[MessageStar](),
	MessagesUndecryptable:   reflect.TypeFor[MessageUndecryptable](),
	MessagesUpdate:          reflect.TypeFor[MessageUpdate](),
	MessagesUpsert:          reflect.TypeFor[Message](),
	NewsLetter:              reflect.TypeFor[NewsletterUpdate](),
	PresenceUpdated:         reflect.TypeFor[PresenceUpdate](),
	ProfilePictureUpdate:    reflect.TypeFor[PictureUpdate](),
	QRCodeUpdated:           reflect.TypeFor[QRCode](),
	SendMessage:             reflect.TypeFor[Message](),
	SettingsUpdate:          reflect.TypeFor[SettingsChange](),
	StatusInstance:          reflect.TypeFor[InstanceStatus](),
	UserAboutUpdate:         reflect.TypeFor[AboutUpdate](),
}

func dataSchema(kind Kind) object {
	t, ok := payloads[kind]
	if !ok {
		return batchSchema(kind)
	}
	data := schemaOf(t)
	switch kind {
	case MessagesUpsert:
		drop(data, "instanceId", "externalAttributes")
	case SendMessage:
		return object{"oneOf": []object{data, schemaOf(reflect.TypeFor[SendResult]())}}
	default:
	}
	return data
}

// phases are the times that only the events announcing them carry.
var phases = map[string][]Kind{
	"startedAt":     {BatchStarted, BatchResumed, BatchProgress},
	"completedAt":   {BatchCompleted, BatchCompletedWithErrors},
	"pausedAt":      {BatchPaused},
	"stoppedAt":     {BatchStopped},
	"interruptedAt": {BatchInterrupted},
	"currentItem":   {BatchProgress},
}

// statuses are the statuses in the payloads of batch events.
var statuses = map[Kind]BatchStatus{
	BatchCreated:             BatchQueued,
	BatchScheduled:           BatchIsScheduled,
	BatchStarted:             BatchProcessing,
	BatchWindowStarted:       BatchQueued,
	BatchWaitingWindow:       BatchWaitingForWindow,
	BatchRecovered:           BatchQueued,
	BatchProgress:            BatchProcessing,
	BatchPauseRequested:      BatchPauseAsked,
	BatchPaused:              BatchIsPaused,
	BatchWaitingInstance:     BatchWaitingForInstance,
	BatchResumed:             BatchProcessing,
	BatchStopRequested:       BatchStopAsked,
	BatchStopped:             BatchIsStopped,
	BatchInterrupted:         BatchIsInterrupted,
	BatchCompleted:           BatchIsCompleted,
	BatchCompletedWithErrors: BatchIsWithErrors,
}

func batchSchema(kind Kind) object {
	switch kind {
	case BatchItemFailed:
		return itemSchema(SendMessageFailed)
	case BatchItemUnknown:
		return itemSchema(SendResultUnknown)
	default:
	}
	data := schemaOf(reflect.TypeFor[BatchData]())
	full := batchShape[BatchView](kind)
	for name, kinds := range phases {
		if slices.Contains(kinds, kind) {
			require(full, name)
		} else {
			drop(full, name)
		}
	}
	propertiesOf(data)["batch"] = full
	switch kind {
	case BatchProgress:
		propertiesOf(data)["batch"] = object{"oneOf": []object{full, batchShape[BatchProgressReduced](kind)}}
	case BatchCompletedWithErrors:
		propertiesOf(data)["batch"] = object{"oneOf": []object{full, batchShape[BatchCompletedReduced](kind)}}
	default:
	}
	return data
}

func batchShape[T any](kind Kind) object {
	shape := schemaOf(reflect.TypeFor[T]())
	fix(shape, "status", string(statuses[kind]))
	drop(propertiesOf(shape)["counts"].(object), "received", "duplicatesIgnored")
	return shape
}

func itemSchema(code string) object {
	data := schemaOf(reflect.TypeFor[BatchItemData]())
	fix(propertiesOf(data)["error"].(object), "code", code)
	return data
}
