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

func dataSchema(kind Kind) object { return Schemas{}.data(kind) }

func (b Schemas) data(kind Kind) object {
	t, ok := payloads[kind]
	if !ok {
		return b.batch(kind)
	}
	switch kind {
	case MessagesUpsert:
		if b.Ref != nil {
			return b.schema(t) // the two fields that are never there are optional
		}
		data := b.structure(t)
		drop(data, "instanceId", "externalAttributes")
		return data
	case SendMessage:
		return object{"oneOf": []object{b.schema(t), b.schema(reflect.TypeFor[SendResult]())}}
	default:
		return b.schema(t)
	}
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

func (b Schemas) batch(kind Kind) object {
	switch kind {
	case BatchItemFailed:
		return b.item(SendMessageFailed)
	case BatchItemUnknown:
		return b.item(SendResultUnknown)
	default:
	}
	data := b.structure(reflect.TypeFor[BatchData]())
	shape := b.full(kind)
	full := shape
	switch kind {
	case BatchProgress:
		shape = object{"oneOf": []object{full, b.shape(reflect.TypeFor[BatchProgressReduced](), kind)}}
	case BatchCompletedWithErrors:
		shape = object{"oneOf": []object{full, b.shape(reflect.TypeFor[BatchCompletedReduced](), kind)}}
	default:
	}
	b.refine(propertiesOf(data), "batch", shape)
	return data
}

// full is the full shape of a batch in the events of a kind: with Ref, the shape that
// all kinds share and what a kind has besides; else with the fields of that kind alone.
func (b Schemas) full(kind Kind) object {
	t := reflect.TypeFor[BatchView]()
	var own []string
	for name, kinds := range phases {
		if slices.Contains(kinds, kind) {
			own = append(own, name)
		}
	}
	if b.Ref != nil {
		if shared := b.Ref(t); shared != nil {
			status := object{"const": string(statuses[kind]), "description": "The status that the event announces."}
			required := append(own, "status")
			slices.Sort(required)
			return object{"allOf": []object{shared, {"type": "object", "properties": object{"status": status}, "required": required}}}
		}
	}
	full := b.shape(t, kind)
	for name := range phases {
		if slices.Contains(own, name) {
			require(full, name)
		} else {
			drop(full, name)
		}
	}
	return full
}

// shape is what a batch looks like in the events of a kind.
func (b Schemas) shape(t reflect.Type, kind Kind) object {
	shape := b.structure(t)
	b.fix(shape, "status", string(statuses[kind]))
	counts := b.structure(reflect.TypeFor[BatchCounts]())
	drop(counts, "received", "duplicatesIgnored")
	b.refine(propertiesOf(shape), "counts", counts)
	return shape
}

func (b Schemas) item(code string) object {
	data := b.structure(reflect.TypeFor[BatchItemData]())
	failure := b.structure(reflect.TypeFor[BatchItemError]())
	b.fix(failure, "code", code)
	b.refine(propertiesOf(data), "error", failure)
	return data
}
