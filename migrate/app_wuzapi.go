package migrate

import (
	"context"
	"slices"
	"strings"

	"postern/event"
	"postern/migrate/table"
)

// wuzapi has its users in one file, users.db, and the library's store in another,
// main.db, or both in one PostgreSQL.
type wuzapi struct{}

func (wuzapi) recognises(ctx context.Context, s *sources) (bool, error) {
	columns, err := s.columns(ctx, "users")
	return slices.Contains(columns, "token") && slices.Contains(columns, "jid"), err
}

func (wuzapi) tables() []string {
	return []string{"users", "message_history", "migrations"}
}

func (wuzapi) messages() (name, owner string) { return "message_history", "user_id" }

// wuzapiEvents are its names of events.
var wuzapiEvents = map[string][]event.Flag{
	"Message": {"messagesUpsert"}, "UndecryptableMessage": {"messagesUndecryptable"}, "Receipt": {"messagesUpdated"}, "ReadReceipt": {"messagesUpdated"},
	"MediaRetry": {"mediaRetry"}, "GroupInfo": {"groupsUpdated", "groupsParticipantsUpdated"}, "JoinedGroup": {"groupsUpsert"}, "Picture": {"profilePictureUpdated"},
	"Connected": {"connectionUpdated"}, "Disconnected": {"connectionUpdated"}, "ConnectFailure": {"connectionUpdated"}, "KeepAliveRestored": {"connectionUpdated"},
	"KeepAliveTimeout": {"connectionUpdated"}, "LoggedOut": {"connectionUpdated", "statusInstance"}, "TemporaryBan": {"connectionUpdated"}, "ClientOutdated": {"connectionUpdated"},
	"StreamReplaced": {"connectionUpdated"}, "StreamError": {"connectionUpdated"}, "PairSuccess": {"connectionUpdated"}, "QR": {"qrcodeUpdated"}, "QRTimeout": {"qrcodeUpdated"},
	"PrivacySettings": {"settingsUpdated"}, "PushNameSetting": {"settingsUpdated"}, "UserAbout": {"userAboutUpdated"}, "HistorySync": {"historySync"},
	"LabelEdit": {"labelsEdit"}, "LabelAssociationChat": {"labelsAssociation"}, "LabelAssociationMessage": {"labelsAssociation"},
	"CallOffer": {"callUpsert"}, "CallAccept": {"callUpsert"}, "CallTerminate": {"callUpsert"}, "CallOfferNotice": {"callUpsert"},
	"Presence": {"presenceUpdated"}, "ChatPresence": {"presenceUpdated"}, "IdentityChange": {"identityUpdated"},
	"NewsletterJoin": {"newsLetter"}, "NewsletterLeave": {"newsLetter"}, "NewsletterMuteChange": {"newsLetter"}, "NewsletterLiveUpdate": {"newsLetter"},
}

func (wuzapi) instances(ctx context.Context, s *sources, o *Options, fn func(*belonging) error) error {
	return s.rows(ctx, "users", func(r *table.Row) error {
		b := &belonging{id: r.Text("id"), name: r.Text("name"), jid: r.Text("jid"), token: r.Text("token"), bodies: true}
		b.webhook(o, r.Text("webhook"), true, b.flags(r.Text("events"), "All", wuzapiEvents))
		b.proxy(o, r.Text("proxy_url"))
		b.rest(r, "id", "name", "token", "webhook", "jid", "qrcode", "connected", "events", "proxy_url", "s3_path_style", "s3_retention_days", "media_delivery")
		if r.Text("media_delivery") != "" && r.Text("media_delivery") != "base64" {
			b.leave("users.media_delivery = %s", cut(r.Text("media_delivery"), shownValue))
		}
		if r.Err() != nil {
			return r.Err()
		}
		return fn(b)
	})
}

func (wuzapi) fill(ctx context.Context, s *sources, o *Options, group map[string]*Account) error {
	return s.rows(ctx, "message_history", func(r *table.Row) error {
		a := group[r.Text("user_id")]
		if a == nil {
			return nil
		}
		m := event.Message{KeyID: r.Text("message_id"), MessageTimestamp: r.Time("timestamp").Unix()}
		plainText(a, &m, r.Text("chat_jid"), r.Text("sender_jid"))
		if kind := r.Text("message_type"); kind == "text" || r.Text("text_content") != "" && r.Null("media_link") {
			m.MessageType, m.Content = text("", r.Text("text_content"))
		}
		a.addMessage(o, r, m)
		return nil
	})
}

// plainText fills in the key of a message with known chat and sender. A
// sender that is the account itself, or "me", makes it an own message.
func plainText(a *Account, m *event.Message, chat, sender string) {
	chat, sender = withoutDevice(chat), withoutDevice(sender)
	setChat(m, chat)
	m.KeyFromMe = m.KeyFromMe || sender == "me" || sender != "" && (sender == a.Import.OwnerJID || sender == a.Import.OwnerLID)
	if m.IsGroup && !m.KeyFromMe && strings.Contains(sender, "@") {
		if strings.HasSuffix(sender, "@lid") {
			m.KeyParticipantLID = &sender
		} else {
			m.KeyParticipant = &sender
		}
	}
}

// setChat fills in the chat of a message.
func setChat(m *event.Message, chat string) {
	m.IsGroup = strings.HasSuffix(chat, "@g.us")
	switch {
	case !strings.Contains(chat, "@"):
	case strings.HasSuffix(chat, "@lid"):
		m.KeyLID = &chat
	default:
		m.KeyRemoteJID = &chat
	}
}

// withoutDevice returns the JID of the account of a device's JID.
func withoutDevice(jid string) string {
	user, server, found := strings.Cut(jid, "@")
	if !found {
		return jid
	}
	user, _, _ = strings.Cut(user, ":")
	return user + "@" + server
}
