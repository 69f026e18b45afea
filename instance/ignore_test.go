package instance

import (
	"context"
	"encoding/json"
	"testing"

	"postern/event"
	"postern/store"
)

const ignoredGroupJID = "120363012345678901@g.us"

// newsOf returns one fact of every kind that is about a chat.
func newsOf(chat string) map[string]event.Fact {
	message := text("K", chat, false)
	all := map[string]event.Fact{"message": {Kind: event.MessagesUpsert, Data: message}}
	for kind, data := range map[event.Kind]any{
		event.MessagesDelete:          event.MessageDelete{ChatJID: chat, MessageID: "K"},
		event.MessagesStar:            event.MessageStar{ChatJID: chat, MessageID: "K"},
		event.MessagesUndecryptable:   event.MessageUndecryptable{ChatJID: chat, KeyID: "U"},
		event.MediaRetry:              event.MediaAnswer{ChatJID: chat, MessageID: "K"},
		event.ChatsUpdated:            event.ChatUpdate{Type: event.ChatArchive, ChatJID: chat},
		event.ChatsDelete:             event.ChatDelete{ChatJID: chat},
		event.LabelsAssociation:       event.LabelAssociation{Type: event.LabelOnChat, ChatJID: chat, LabelID: "1"},
		event.CallUpsert:              event.Call{ChatID: chat, From: chat, ID: "C", Status: event.CallOffer},
		event.PresenceUpdated:         event.PresenceUpdate{JID: chat},
		event.ProfilePictureUpdate:    event.PictureUpdate{JID: chat},
		event.UserAboutUpdate:         event.AboutUpdate{JID: chat},
		event.IdentityUpdate:          event.IdentityChange{JID: chat},
		event.ContactsUpsert:          event.ContactChange{JID: chat, PushName: new("Ann")},
		event.GroupsParticipantsEvent: event.GroupParticipantsUpdate{ID: chat, Action: event.ParticipantAction("add")},
		event.GroupsUpdate:            []event.GroupUpdate{{Partial: event.GroupPartial{ID: chat}}},
		event.GroupsUpsert:            []event.GroupUpsert{{ID: chat}},
	} {
		all[string(kind)] = event.Fact{Kind: kind, Data: data}
	}
	return all
}

func (r *rig) settle(id int64, s Settings) {
	r.Helper()
	if _, err := r.reg.PutSettings(context.Background(), id, s); err != nil {
		r.Fatal(err)
	}
}

// records counts the messages and contacts in the file.
func (r *rig) records() (n int) {
	r.Helper()
	err := r.s.View(func(tx *store.Tx) error {
		for _, bucket := range []string{"message", "contact"} {
			err := tx.Scan(bucket, store.Range{}, func(_, _ []byte) (bool, error) {
				n++
				return true, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	return n
}

func TestIgnoredChatsAreNeitherStoredNorPublished(t *testing.T) {
	const phone, lid = "4915112345678@s.whatsapp.net", "133742133742133@lid"
	twin := func(cfg *Config) {
		cfg.Twin = func(jid string) string {
			return map[string]string{phone: lid, lid: phone}[jid]
		}
	}
	for _, c := range []struct {
		rule   string
		ignore Ignore
		chat   string
		other  string // one that is not ignored
	}{
		{"groups", Ignore{Groups: true}, ignoredGroupJID, phone},
		{"status", Ignore{Status: true}, event.StatusBroadcast, phone},
		{"newsletters", Ignore{Newsletters: true}, "120363012345678901@newsletter", ignoredGroupJID},
		{"broadcasts", Ignore{Broadcasts: true}, "17@broadcast", event.StatusBroadcast},
		{"jids", Ignore{JIDs: []string{ignoredGroupJID}}, ignoredGroupJID, "120363012345678902@g.us"},
		{"jids", Ignore{JIDs: []string{"+49 151 12345678"}}, phone, "4915112345679@s.whatsapp.net"},
		{"jids", Ignore{JIDs: []string{"4915112345678"}}, lid, "133742133742134@lid"},
		{"jids", Ignore{JIDs: []string{lid}}, phone, "4915112345679@s.whatsapp.net"},
	} {
		t.Run(c.rule+" "+c.chat, func(t *testing.T) {
			r := newRig(t, twin, nil)
			defer r.stop()
			id, free := r.create("a").ID, r.create("b").ID
			r.settle(id, Settings{Ignore: c.ignore})
			news := newsOf(c.chat)
			for name, fact := range news {
				r.report(id, fact) // no error: it is acknowledged
				if published := r.published(); len(published) != 0 {
					t.Errorf("%s: %v was published", name, kinds(published))
				}
			}
			if n := r.records(); n != 0 {
				t.Errorf("%d records were stored", n)
			}
			if n := r.reg.Ignored()[c.rule]; n != uint64(len(news)) {
				t.Errorf("%d were counted of %d", n, len(news))
			}
			for name, fact := range newsOf(c.other) {
				r.report(id, fact)
				if published := r.published(); len(published) != 1 {
					t.Errorf("%s of another chat: %v was published", name, kinds(published))
				}
			}
			r.report(free, news["message"])
			r.one()
		})
	}
}

func TestBroadcastMessageIsIgnoredInDirectChat(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	id := r.create("a").ID
	r.settle(id, Settings{Ignore: Ignore{Broadcasts: true}})
	m := text("K", "4915112345678@s.whatsapp.net", false)
	m.Metadata = json.RawMessage(`{"broadcast":"17@broadcast"}`)
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: m})
	if published := r.published(); len(published) != 0 || r.records() != 0 {
		t.Errorf("published %v, %d records", kinds(published), r.records())
	}
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("L", "4915112345678@s.whatsapp.net", false)})
	r.one()
}

func TestSendsToIgnoredChatArePublished(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	id := r.create("a").ID
	const chat = "4915112345678@s.whatsapp.net"
	r.settle(id, Settings{Ignore: Ignore{JIDs: []string{chat}}})
	r.report(id, event.Fact{Kind: event.SendMessage, Data: text("K", chat, true)})
	r.one()
	r.report(id, event.Fact{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: []string{"K"}, Status: event.StatusRead}})
	if n := r.one(); n.Kind != event.MessagesUpdate {
		t.Errorf("%s was published", n.Kind)
	}
}

func TestSettingsOutliveARestart(t *testing.T) {
	r := newRig(t, nil, nil)
	id := r.create("a").ID
	want := Settings{Ignore: Ignore{JIDs: []string{ignoredGroupJID}}, History: History{Days: 7}, AlwaysOnline: true}
	r.settle(id, want)
	r.reboot()
	defer r.stop()
	got, err := r.reg.Settings(id)
	if err != nil || got.History.Days != 7 || !got.AlwaysOnline || len(got.Ignore.JIDs) != 1 {
		t.Errorf("after the restart: %+v (%v)", got, err)
	}
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("K", ignoredGroupJID, false)})
	if published := r.published(); len(published) != 0 {
		t.Errorf("published %v", kinds(published))
	}
}
