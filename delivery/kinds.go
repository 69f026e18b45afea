package delivery

import (
	"slices"

	"postern/event"
)

// kinds gives each event its number in the file. New ones are added at the end;
// rows of the digest have room for 64.
var kinds = [...]event.Kind{
	"",
	event.CallUpsert, event.ChatsDelete, event.ChatsUpdated, event.ConnectionUpdated, event.ContactsUpdate, event.ContactsUpsert,
	event.GroupsParticipantsEvent, event.GroupsUpdate, event.GroupsUpsert, event.HistorySync, event.IdentityUpdate,
	event.LabelsAssociation, event.LabelsEdit, event.MediaRetry, event.MessagesDelete, event.MessagesStar,
	event.MessagesUndecryptable, event.MessagesUpdate, event.MessagesUpsert, event.NewsLetter, event.PresenceUpdated,
	event.ProfilePictureUpdate, event.QRCodeUpdated, event.SendMessage, event.SettingsUpdate, event.StatusInstance,
	event.UserAboutUpdate,
	event.BatchCreated, event.BatchScheduled, event.BatchStarted, event.BatchWindowStarted, event.BatchWaitingWindow,
	event.BatchRecovered, event.BatchProgress, event.BatchPauseRequested, event.BatchPaused, event.BatchWaitingInstance,
	event.BatchResumed, event.BatchStopRequested, event.BatchStopped, event.BatchInterrupted, event.BatchCompleted,
	event.BatchCompletedWithErrors, event.BatchItemFailed, event.BatchItemUnknown,
}

const _ = uint(64 - len(kinds))

var kindNumbers = func() map[event.Kind]byte {
	numbers := make(map[event.Kind]byte, len(kinds))
	for n, k := range kinds {
		numbers[k] = byte(n)
	}
	return numbers
}()

// kindNumber is 0 for what is no event.
func kindNumber(k event.Kind) byte { return kindNumbers[k] }

// kindOf returns the event of a number; known is false when there is none.
func kindOf(number byte) (k event.Kind, known bool) {
	if number == 0 || int(number) >= len(kinds) {
		return "", false
	}
	return kinds[number], true
}

// states gives each state its number in the file; 0 is none.
var states = [...]State{"", Pending, Delivered, Failed, Dropped, Expired, Cancelled}

func stateNumber(s State) byte { return byte(max(0, slices.Index(states[:], s))) }

// stateOf returns the state of a number; known is false when there is none.
func stateOf(number byte) (s State, known bool) {
	if number == 0 || int(number) >= len(states) {
		return "", false
	}
	return states[number], true
}
