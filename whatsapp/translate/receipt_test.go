package translate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

func TestReceiptsMapToTheStatusesOfTheContract(t *testing.T) {
	at := time.Unix(1700000000, 0)
	for in, want := range map[types.ReceiptType]event.UpdateStatus{
		"": "delivered", "inactive": "delivered", "sender": "sent", "read": "read", "read-self": "read",
		"played": "played", "played-self": "played", "retry": "retry", "server-error": "server_error", "odd": "unknown",
	} {
		f, ok := testTranslator().Receipt(&events.Receipt{MessageIDs: []string{"A", "B"}, Type: in, Timestamp: at})
		wantData := event.Receipt{KeyIDs: []string{"A", "B"}, Status: want, At: at}
		if diff := cmp.Diff(event.Fact{Kind: event.MessagesUpdate, Data: wantData}, f); !ok || diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
	for _, in := range []types.ReceiptType{"peer_msg", "hist_sync"} {
		if _, ok := testTranslator().Receipt(&events.Receipt{MessageIDs: []string{"A"}, Type: in}); ok {
			t.Errorf("%q is reported", in)
		}
	}
}

func TestReceiptNamesItsChatLikeMessages(t *testing.T) {
	group := types.NewJID("120-1", types.GroupServer)
	for name, source := range map[string]types.MessageSource{
		"by LID":             {Chat: anneLID, Sender: anneLID},
		"by phone":           {Chat: annePN, Sender: annePN},
		"of a device":        {Chat: anneLID, Sender: types.JID{User: anneLID.User, Server: anneLID.Server, Device: 3}},
		"of the own devices": {Chat: anneLID, Sender: ownLID, IsFromMe: true},
		"in a group":         {Chat: group, Sender: anneLID, IsGroup: true},
	} {
		receipt, _ := testTranslator().Receipt(&events.Receipt{MessageIDs: []string{"A"}, MessageSource: source})
		message, _ := testTranslator().Message(nil, &events.Message{
			Info: types.MessageInfo{MessageSource: source, ID: "A"}, RawMessage: &waE2E.Message{Conversation: new("x")},
		})
		if got, want := event.AboutOf(receipt.Data), event.AboutOf(message.Data); got.Chat == "" || got.Chat != want.Chat || got.LID != want.LID {
			t.Errorf("%s: the receipt is about %+v, the message about %+v", name, got, want)
		}
	}
}
