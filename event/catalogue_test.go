package event

import (
	"slices"
	"strings"
	"testing"
)

// The names as consumers integrate against them, written down a second time on
// purpose: a typing error in the table must not be able to pass.
const instanceNames = `callUpsert call.upsert
chatsDeleted chats.delete
chatsUpdated chats.updated
connectionUpdated connection.update
contactsUpdated contacts.update
contactsUpsert contacts.upsert
groupsParticipantsUpdated groups.participants.update
groupsUpdated groups.update
groupsUpsert groups.upsert
historySync history.sync
identityUpdated identity.update
labelsAssociation labels.association
labelsEdit labels.edit
mediaRetry media.retry
messagesDeleted messages.delete
messagesStarred messages.star
messagesUndecryptable messages.undecryptable
messagesUpdated messages.update
messagesUpsert messages.upsert
newsLetter news.letter
presenceUpdated presence.updated
profilePictureUpdated profile.picture.update
qrcodeUpdated qrcode.updated
sendMessage send.message
settingsUpdated settings.update
statusInstance status.instance
userAboutUpdated user.about.update`

const batchNames = `created scheduled started window-started waiting-window recovered progress pause-requested paused
waiting-instance resumed stop-requested stopped interrupted completed completed-with-errors item.failed item.unknown`

func TestTheCatalogueHas27InstanceEventsWithTheirFlagsAnd18BatchEvents(t *testing.T) {
	var instance, batch []string
	for _, d := range Catalogue() {
		if d.Family == Instance {
			instance = append(instance, string(d.Flag)+" "+string(d.Kind))
		} else {
			batch = append(batch, strings.TrimPrefix(string(d.Kind), "message.batch."))
		}
		if found, ok := Lookup(d.Kind); !ok || found != d {
			t.Errorf("Lookup(%q) = %+v, %t", d.Kind, found, ok)
		}
		if KnownFlag(d.Flag) != (d.Family == Instance) {
			t.Errorf("KnownFlag(%q) is wrong", d.Flag)
		}
	}
	if want := strings.Split(instanceNames, "\n"); !slices.Equal(instance, want) || len(want) != 27 {
		t.Errorf("instance events: %q", instance)
	}
	if want := strings.Fields(batchNames); !slices.Equal(batch, want) || len(want) != 18 {
		t.Errorf("batch events: %q", batch)
	}
}

func TestTheGatesAndArraysAreThoseOfTheCatalogue(t *testing.T) {
	gates := map[Kind]Gate{
		ContactsUpdate: "DATABASE_SAVE_DATA_CONTACTS", ContactsUpsert: "DATABASE_SAVE_DATA_CONTACTS",
		MessagesUpdate: "DATABASE_SAVE_MESSAGE_UPDATE", MessagesUpsert: "DATABASE_SAVE_DATA_NEW_MESSAGE",
	}
	arrays := []Kind{ContactsUpdate, GroupsUpdate, GroupsUpsert}
	for _, d := range Catalogue() {
		if d.Gate != gates[d.Kind] {
			t.Errorf("%s: gate %q", d.Kind, d.Gate)
		}
		if d.Array != slices.Contains(arrays, d.Kind) {
			t.Errorf("%s: array %t", d.Kind, d.Array)
		}
	}
}

func TestThereAreSixteenConnectionStates(t *testing.T) {
	const want = "offline connecting qr_code pairing_code pairing online reconnecting disconnected connection_timeout logged_out session_missing stream_replaced keepalive_timeout client_outdated temporary_ban connection_error"
	var got []string
	for _, s := range States() {
		got = append(got, string(s))
	}
	if strings.Join(got, " ") != want {
		t.Errorf("states: %q", got)
	}
}

func TestUnknownNamesAreNotInTheCatalogue(t *testing.T) {
	if _, ok := Lookup("messages.insert"); ok {
		t.Error("Lookup found an unknown event")
	}
	if KnownFlag("") || KnownFlag("messagesupsert") {
		t.Error("KnownFlag accepts what is no flag")
	}
}
