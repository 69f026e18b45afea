package sandbox

import (
	"slices"
	"testing"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

func TestReceiptsOfEveryTypeReachTheClient(t *testing.T) {
	s, _, anne, c := withContacts(t)
	for i, kind := range []string{
		"", "delivery", "inactive", "read", "read-self", "played", "played-self", "sender", "server-error", "retry", "peer_msg", "hist_sync", "unknown",
	} {
		does(t, s, anneNumber, `{"do":"receipt","to":"`+ownNumber+`","ids":["`+kind+`1","b"],"type":"`+kind+`"}`)
		r := wait(c, i+1, every[*events.Receipt])
		want := types.ReceiptType(kind)
		if kind == "delivery" {
			want = types.ReceiptTypeDelivered
		}
		ids := []string{kind + "1", "b"}
		if kind == "retry" {
			ids = ids[:1] // clients read only one of a retry
		}
		if r.Type != want || !slices.Equal(r.MessageIDs, ids) || r.Chat != anne.LID() || r.Sender != anne.LID() || r.SenderAlt != anne.JID() ||
			r.IsFromMe || r.IsGroup || r.Timestamp.IsZero() {
			t.Errorf("%q: %+v", kind, r)
		}
	}
}

func TestReceiptOfAMemberIsInItsGroup(t *testing.T) {
	s, _, anne, _, c := groupNet(t, Config{})
	group := madeByAct(t, s)
	wait(c, 1, every[*events.JoinedGroup])
	does(t, s, anneNumber, `{"do":"receipt","to":"`+ownNumber+`","group":"`+group.String()+`","ids":["a","b"],"type":"read"}`)
	r := wait(c, 1, every[*events.Receipt])
	if r.Chat != group || r.Sender != anne.LID() || r.SenderAlt != anne.JID() || !r.IsGroup || r.Type != types.ReceiptTypeRead || len(r.MessageIDs) != 2 {
		t.Errorf("receipt %+v", r)
	}
}

func TestReceiptOfTheOwnPhoneNamesTheChat(t *testing.T) {
	s, own, anne, c := withContacts(t)
	does(t, s, ownNumber, `{"do":"receipt","to":"`+ownNumber+`","chat":"`+anneNumber+`","ids":["a"],"type":"read-self"}`)
	r := wait(c, 1, every[*events.Receipt])
	if r.Chat != anne.LID() || r.RecipientAlt != anne.JID() || r.Sender != own.LID() || !r.IsFromMe || r.Type != types.ReceiptTypeReadSelf {
		t.Errorf("receipt %+v", r)
	}
}

func TestCorruptedMessageIsResentByThePhone(t *testing.T) {
	s, _, anne, c := withContacts(t)
	id := does(t, s, anneNumber, `{"do":"undecryptable","to":"`+ownNumber+`","text":"at last"}`)["id"]
	u := wait(c, 1, every[*events.UndecryptableMessage])
	if u.Info.ID != id || u.Info.Chat != anne.LID() || u.IsUnavailable || u.UnavailableType != "" || u.DecryptFailMode != events.DecryptFailShow {
		t.Errorf("undecryptable %+v", u)
	}
	if m := wait(c, 1, isText("at last")); m.Info.ID != id || m.RetryCount != 1 {
		t.Errorf("again: %+v", m)
	}
	id = does(t, s, anneNumber, `{"do":"undecryptable","to":"`+ownNumber+`","text":"never","hide":true,"resend":false}`)["id"]
	if u = wait(c, 2, every[*events.UndecryptableMessage]); u.Info.ID != id || u.DecryptFailMode != events.DecryptFailHide {
		t.Errorf("hidden: %+v", u)
	}
	// This is the client's request once more, at a time that the test knows: the phone works in
	// order, so an answer would come before the echo.
	retry := node("receipt", "to", anne.LID(), "id", id, "type", "retry")
	retry.Content = append(retry.GetChildren(), node("retry", "id", id, "count", "2"))
	if err := s.Route(t.Context(), c.Store.GetLID(), retry); err != nil {
		t.Fatal(err)
	}
	c.sendText(anne.JID(), "echo later")
	wait(c, 1, isText("later"))
	if count(c, isText("never")) != 0 {
		t.Error("the phone sent again what it should not")
	}
}

func TestUnavailableMessageSaysWhy(t *testing.T) {
	s, _, anne, c := withContacts(t)
	for i, kind := range []string{"view_once", "bot_unavailable_fanout"} {
		id := does(t, s, anneNumber, `{"do":"undecryptable","to":"`+ownNumber+`","kind":"`+kind+`"}`)["id"]
		u := wait(c, i+1, every[*events.UndecryptableMessage])
		if u.Info.ID != id || u.Info.Chat != anne.LID() || u.Info.SenderAlt != anne.JID() || u.Info.PushName != anne.PushName() ||
			!u.IsUnavailable || string(u.UnavailableType) != kind {
			t.Errorf("%s: %+v", kind, u)
		}
	}
}
