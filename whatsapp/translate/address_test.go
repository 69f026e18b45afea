package translate

import (
	"testing"
	"time"

	"go.mau.fi/whatsmeow/proto/waVnameCert"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// addressed is the chat and sender of a message, with "-" for null.
type addressed struct {
	remote, lid, participant, participantLID string
	isGroup                                  bool
}

func addressOf(m *event.Message) addressed {
	text := func(p *string) string {
		if p == nil {
			return "-"
		}
		return *p
	}
	return addressed{text(m.KeyRemoteJID), text(m.KeyLID), text(m.KeyParticipant), text(m.KeyParticipantLID), m.IsGroup}
}

func TestChatAndParticipantHaveBothAddresses(t *testing.T) {
	var (
		pn, lid   = annePN.String(), anneLID.String()
		me, meLID = ownPN.String(), ownLID.String()
		device    = types.JID{User: anneLID.User, Device: 4, Server: types.HiddenUserServer}
		ownDevice = types.JID{User: ownLID.User, Device: 4, Server: types.HiddenUserServer}
		strangers = types.NewJID("1777887000", types.BroadcastServer)
		bot       = types.NewJID("867051314767696", types.BotServer)
	)
	for name, tc := range map[string]struct {
		src  types.MessageSource
		want addressed
	}{
		"direct, both sent":          {types.MessageSource{Chat: unknownLID, Sender: unknownLID, SenderAlt: strangerPN}, addressed{strangerPN.String(), unknownLID.String(), "-", "-", false}},
		"direct by phone, both sent": {types.MessageSource{Chat: strangerPN, Sender: strangerPN, SenderAlt: unknownLID}, addressed{strangerPN.String(), unknownLID.String(), "-", "-", false}},
		"direct, looked up":          {types.MessageSource{Chat: anneLID, Sender: device}, addressed{pn, lid, "-", "-", false}},
		"direct by phone, looked up": {types.MessageSource{Chat: annePN, Sender: annePN}, addressed{pn, lid, "-", "-", false}},
		"LID alone":                  {types.MessageSource{Chat: unknownLID, Sender: unknownLID}, addressed{unknownLID.String(), unknownLID.String(), "-", "-", false}},
		"phone alone":                {types.MessageSource{Chat: strangerPN, Sender: strangerPN}, addressed{strangerPN.String(), "-", "-", "-", false}},
		"an alternative that is none": {
			types.MessageSource{Chat: anneLID, Sender: device, SenderAlt: channel},
			addressed{pn, lid, "-", "-", false},
		},
		"the alternative of one's own kind": {
			types.MessageSource{Chat: anneLID, Sender: device, SenderAlt: unknownLID},
			addressed{pn, lid, "-", "-", false},
		},
		"hosted": {
			types.MessageSource{Chat: types.NewJID(annePN.User, types.HostedServer), Sender: annePN},
			addressed{pn, lid, "-", "-", false},
		},
		"the old server of phones": {
			types.MessageSource{Chat: types.NewJID(annePN.User, types.LegacyUserServer), Sender: annePN},
			addressed{pn, lid, "-", "-", false},
		},
		"by the own phone": {
			types.MessageSource{Chat: unknownLID, Sender: ownDevice, SenderAlt: ownPN, IsFromMe: true, RecipientAlt: strangerPN},
			addressed{strangerPN.String(), unknownLID.String(), "-", "-", false},
		},
		"with oneself": {
			types.MessageSource{Chat: ownLID, Sender: ownDevice, IsFromMe: true},
			addressed{me, meLID, "-", "-", false},
		},
		"with oneself by phone": {
			types.MessageSource{Chat: ownPN, Sender: ownPN, IsFromMe: true},
			addressed{me, meLID, "-", "-", false},
		},
		"group": {
			types.MessageSource{Chat: bakers, Sender: device, SenderAlt: annePN, IsGroup: true},
			addressed{bakers.String(), "-", pn, lid, true},
		},
		"group, own": {
			types.MessageSource{Chat: bakers, Sender: ownDevice, IsFromMe: true, IsGroup: true},
			addressed{bakers.String(), "-", me, meLID, true},
		},
		"group without a sender": {
			types.MessageSource{Chat: bakers, IsGroup: true},
			addressed{bakers.String(), "-", "-", "-", true},
		},
		"broadcast list": {
			types.MessageSource{Chat: strangers, Sender: device, SenderAlt: annePN, IsGroup: true},
			addressed{pn, lid, "-", "-", false},
		},
		"own broadcast list": {
			types.MessageSource{Chat: strangers, Sender: ownDevice, IsFromMe: true, IsGroup: true, BroadcastListOwner: ownLID},
			addressed{strangers.String(), "-", me, meLID, false},
		},
		"status": {
			types.MessageSource{Chat: types.StatusBroadcastJID, Sender: device, IsGroup: true},
			addressed{types.StatusBroadcastJID.String(), "-", pn, lid, false},
		},
		"newsletter": {
			types.MessageSource{Chat: channel, Sender: channel},
			addressed{channel.String(), "-", "-", "-", false},
		},
		"bot": {
			types.MessageSource{Chat: bot, Sender: bot},
			addressed{bot.String(), "-", "-", "-", false},
		},
		"bot in another chat": {
			types.MessageSource{Chat: annePN, Sender: bot},
			addressed{pn, lid, bot.String(), "-", false},
		},
		"nowhere":           {types.MessageSource{}, addressed{"-", "-", "-", "-", false}},
		"a server, no user": {types.MessageSource{Chat: types.JID{Server: types.GroupServer}}, addressed{"-", "-", "-", "-", false}},
	} {
		t.Run(name, func(t *testing.T) {
			evt := fromAnne(text("x"))
			evt.Info.MessageSource = tc.src
			if got := addressOf(reported(t, evt)); got != tc.want {
				t.Errorf("got  %+v\nwant %+v", got, tc.want)
			}
		})
	}
}

func TestMetadataOfBroadcastBusinessAndNewsletter(t *testing.T) {
	evt := fromAnne(text("x"))
	evt.Info.Chat = types.NewJID("1777887000", types.BroadcastServer)
	evt.Info.IsGroup = true
	evt.Info.VerifiedName = verifiedName("Anne's Bakery")
	if got, want := string(reported(t, evt).Metadata), `{"businessName":"Anne's Bakery","broadcast":"1777887000@broadcast"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	evt = fromAnne(text("x"))
	evt.Info.Chat, evt.Info.Sender, evt.Info.ServerID = channel, channel, 101
	evt.NewsletterMeta = &events.NewsletterMessageMeta{EditTS: then, OriginalTS: then}
	if got, want := string(reported(t, evt).Metadata), `{"edited":true,"editOf":"3A0123456789ABCDEF01","serverId":101}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	evt.NewsletterMeta = &events.NewsletterMessageMeta{EditTS: time.UnixMilli(0)}
	evt.Info.ServerID = -1
	if got := reported(t, evt).Metadata; got != nil {
		t.Errorf("got %s, want null", got)
	}
}

func TestMessageWithoutATimeGetsTheCurrentOne(t *testing.T) {
	for _, when := range []time.Time{{}, time.Unix(0, 0), time.Unix(-5, 0)} {
		evt := fromAnne(text("x"))
		evt.Info.Timestamp = when
		if got := reported(t, evt).MessageTimestamp; got != noon.Unix() {
			t.Errorf("%v: got %d", when, got)
		}
	}
}

func TestANameThatIsNoneIsNull(t *testing.T) {
	for _, name := range []string{"", "-"} {
		evt := fromAnne(text("x"))
		evt.Info.PushName = name
		if got := reported(t, evt).PushName; got != nil {
			t.Errorf("%q: got %q", name, *got)
		}
	}
}

func verifiedName(name string) *types.VerifiedName {
	return &types.VerifiedName{Details: &waVnameCert.VerifiedNameCertificate_Details{VerifiedName: &name}}
}
