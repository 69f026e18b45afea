package events

import (
	"net/http"
	"strings"
	"testing"

	"postern/e2e/rig"
	"postern/event"
)

func peopleRows() []triggerRow {
	return []triggerRow{
		{
			kind: event.ContactsUpdate, trigger: "PushName", typ: string(event.SourcePushName),
			steps: []rig.Step{rig.Act("$anne", `{"do":"push-name","name":"Anne B","to":"$own"}`)},
			want:  `[{"id":"*","remoteJid":"$anne@s.whatsapp.net","lid":"$anneLID","pushName":"Anne B","action":"updated","source":"pushName"}]`,
		},
		{
			kind: event.ContactsUpdate, trigger: "BusinessName", typ: string(event.SourceBusinessName),
			steps: []rig.Step{rig.Act("$bob", `{"do":"business-name","name":"Bob's Mill","to":"$own"}`)},
			want:  `[{"id":"*","remoteJid":"$bob@s.whatsapp.net","businessName":"Bob's Mill","action":"updated","source":"businessName"}]`,
		},
		{
			kind: event.IdentityUpdate, trigger: "IdentityChange",
			steps: []rig.Step{rig.Act("$bob", `{"do":"identity-change","to":"$own"}`)},
			want:  `{"jid":"$bob@s.whatsapp.net","dateTime":"*","implicit":false}`,
		},
		{
			kind: event.PresenceUpdated, trigger: "Presence", typ: "",
			steps: []rig.Step{rig.Act("$anne", `{"do":"presence","to":"$own","online":false}`)},
			want:  `{"type":"presence","jid":"$anne@s.whatsapp.net","unavailable":true,"dateTime":"*","chatJid":"<absent>"}`,
		},
		{
			kind: event.PresenceUpdated, trigger: "ChatPresence",
			steps: []rig.Step{rig.Act("$anne", `{"do":"chat-presence","to":"$own","state":"composing"}`)},
			want:  `{"type":"<absent>","chatJid":"$anne@s.whatsapp.net","senderJid":"$anne@s.whatsapp.net","state":"composing","dateTime":"*"}`,
		},
		{
			kind: event.PresenceUpdated, trigger: "ChatPresence", note: "recording",
			steps: []rig.Step{rig.Act("$anne", `{"do":"chat-presence","to":"$own","state":"recording"}`)},
			want:  `{"state":"composing","media":"audio"}`,
		},
		{
			kind: event.ProfilePictureUpdate, trigger: "Picture",
			steps: []rig.Step{rig.Act("$anne", `{"do":"picture","to":"$own"}`)},
			want:  `{"jid":"$anne@s.whatsapp.net","remove":false,"pictureId":"*","isGroup":false,"dateTime":"*"}`,
		},
		{
			kind: event.ProfilePictureUpdate, trigger: "Picture", note: "own, stored first",
			steps: []rig.Step{rig.Act("$own", `{"do":"picture"}`)},
			want:  `{"jid":"$own@s.whatsapp.net","remove":false,"pictureId":"*","isGroup":false}`,
			then: func(t *testing.T, s *rig.Scene) {
				s.Do(t, rig.Route(http.MethodGet, "/instance/$name", "").As("shown"))
				if url := s.Vars["shown.profilePicUrl"]; !strings.HasPrefix(url, "https://") {
					t.Errorf("profilePicUrl is %q", url)
				}
			},
		},
		{
			kind: event.ProfilePictureUpdate, trigger: "Picture", note: "own, removed",
			steps: []rig.Step{rig.Act("$own", `{"do":"picture","remove":true}`)},
			want:  `{"jid":"$own@s.whatsapp.net","remove":true,"pictureId":"<absent>"}`,
			then: func(t *testing.T, s *rig.Scene) {
				s.Do(t, rig.Route(http.MethodGet, "/instance/$name", "").As("shown"))
				if url := s.Vars["shown.profilePicUrl"]; strings.HasPrefix(url, "https://") {
					t.Errorf("profilePicUrl is %q", url)
				}
			},
		},
		{
			kind: event.ProfilePictureUpdate, trigger: "Picture", note: "removed",
			steps: []rig.Step{rig.Act("$anne", `{"do":"picture","to":"$own","remove":true}`)},
			want:  `{"jid":"$anne@s.whatsapp.net","remove":true,"pictureId":"<absent>"}`,
		},
		{
			kind: event.UserAboutUpdate, trigger: "UserAbout",
			steps: []rig.Step{rig.Act("$anne", `{"do":"about","to":"$own","text":"baking"}`)},
			want:  `{"jid":"$anne@s.whatsapp.net","status":"baking","dateTime":"*"}`,
		},
		{
			kind: event.ChatsUpdated, trigger: "BlocklistChange", typ: string(event.ChatBlocklistChange),
			steps: []rig.Step{rig.Act("$own", `{"do":"blocklist","action":"block","target":"$bob"}`)},
			want:  `{"type":"blocklist.change","chatJid":"$bob@s.whatsapp.net","action":"block","dateTime":"*"}`,
		},
		{
			kind: event.ChatsUpdated, trigger: "Blocklist", typ: string(event.ChatBlocklist),
			steps: []rig.Step{rig.Act("$own", `{"do":"blocklist","action":"unblock","target":"$bob"}`)},
			want:  `{"type":"blocklist","dhash":"*","dateTime":"*"}`,
		},
		{
			kind: event.StatusInstance, trigger: "PrivacySettings", typ: string(event.StatusPrivacySettings),
			steps: []rig.Step{rig.Act("$own", `{"do":"privacy","name":"last","value":"none"}`)},
			want:  `{"type":"privacy.settings","data":{"lastSeen":"none","changed":["lastSeen"]}}`,
		},
	}
}

func newsletterRows() []triggerRow {
	row := func(trigger string, kind event.NewsletterType, body, want string) triggerRow {
		return triggerRow{
			kind: event.NewsLetter, trigger: trigger, typ: string(kind), steps: []rig.Step{rig.Act("$own", body).As("n")},
			want: `{"type":"` + string(kind) + `","newsletterJid":"$n.newsletter","dateTime":"*"` + want + `}`,
		}
	}
	return []triggerRow{
		row("NewsletterJoin", event.NewsletterJoin, `{"do":"newsletter-join","name":"Bread"}`, `,"name":"Bread"`),
		row("NewsletterMuteChange", event.NewsletterMuteChange, `{"do":"newsletter-mute","newsletter":"$n.newsletter","muted":true}`, `,"muted":true`),
		row("NewsletterLiveUpdate", event.NewsletterLiveUpdate, `{"do":"newsletter-live-update","newsletter":"$n.newsletter"}`, `,"messages":"*"`),
		{
			kind: event.NewsLetter, trigger: "NewsletterMessageMeta", typ: string(event.NewsletterMessageMeta),
			steps: []rig.Step{rig.Act("$own", `{"do":"newsletter-message","newsletter":"$n.newsletter","text":"corrected","id":"NEWS1"}`)},
			want:  `{"type":"message.meta","newsletterJid":"$n.newsletter","dateTime":"*","messageId":"NEWS1","editedAt":"*","originalAt":"*"}`,
		},
		{
			kind: event.MessagesUpsert, trigger: "Message", note: "of a channel",
			steps: []rig.Step{rig.Act("$own", `{"do":"newsletter-message","newsletter":"$n.newsletter","text":"news"}`)},
			want:  `{"keyRemoteJid":"$n.newsletter","keyFromMe":false,"messageType":"conversation","content":{"text":"news"},"isGroup":false}`,
		},
		row("NewsletterLeave", event.NewsletterLeave, `{"do":"newsletter-leave","newsletter":"$n.newsletter"}`, ``),
	}
}

func syncRows() []triggerRow {
	chat := func(trigger string, kind event.ChatUpdateType, body, want string) triggerRow {
		return triggerRow{
			kind: event.ChatsUpdated, trigger: trigger, typ: string(kind), steps: []rig.Step{rig.Act("$own", body)},
			want: `{"type":"` + string(kind) + `","dateTime":"*","fromFullSync":false` + want + `}`,
		}
	}
	const anne = `,"chatJid":"$anne@s.whatsapp.net"`
	return []triggerRow{
		{
			kind: event.ContactsUpsert, trigger: "Contact",
			steps: []rig.Step{rig.Act("$own", `{"do":"contact","to":"$anne","fullName":"Anne Baker","firstName":"Anne"}`)},
			want:  `{"id":"*","remoteJid":"$anne@s.whatsapp.net","lid":"$anneLID","pushName":"*","profilePicUrl":null,"action":"upserted"}`,
		},
		chat("Archive", event.ChatArchive, `{"do":"archive","chat":"$anne","archived":true}`, anne+`,"archived":true`),
		chat("Pin", event.ChatPin, `{"do":"pin","chat":"$anne","pinned":true}`, anne+`,"pinned":true`),
		chat("Mute", event.ChatMute, `{"do":"mute","chat":"$anne","muted":true}`, anne+`,"muted":true`),
		chat("MarkChatAsRead", event.ChatMarkRead, `{"do":"mark-read","chat":"$anne","read":true}`, anne+`,"read":true`),
		chat("ClearChat", event.ChatClear, `{"do":"clear-chat","chat":"$anne"}`, anne),
		chat("UnarchiveChatsSetting", event.ChatUnarchiveSetting, `{"do":"unarchive-setting","unarchive":true}`, `,"chatJid":"<absent>","unarchiveChats":true`),
		{
			kind: event.ChatsDelete, trigger: "DeleteChat", steps: []rig.Step{rig.Act("$own", `{"do":"delete-chat","chat":"$anne"}`)},
			want: `{"chatJid":"$anne@s.whatsapp.net","dateTime":"*"}`,
		},
		{
			kind: event.MessagesStar, trigger: "Star",
			steps: []rig.Step{rig.Act("$own", `{"do":"star","chat":"$anne","id":"$msg.id","starred":true}`)},
			want:  `{"chatJid":"$anne@s.whatsapp.net","keyFromMe":false,"messageId":"$msg.id","starred":true,"fromFullSync":false,"dateTime":"*"}`,
		},
		{
			kind: event.MessagesDelete, trigger: "DeleteForMe",
			steps: []rig.Step{rig.Act("$own", `{"do":"delete-for-me","chat":"$anne","id":"$msg.id"}`)},
			want:  `{"id":"*","chatJid":"$anne@s.whatsapp.net","keyFromMe":false,"messageId":"$msg.id","deleteMedia":"*","fromFullSync":false,"dateTime":"*"}`,
		},
		{
			kind: event.LabelsEdit, trigger: "LabelEdit",
			steps: []rig.Step{rig.Act("$own", `{"do":"label-edit","label":"7","name":"late","color":3}`)},
			want:  `{"id":"7","name":"late","color":3}`,
		},
		{
			kind: event.LabelsAssociation, trigger: "LabelAssociationChat", typ: string(event.LabelOnChat),
			steps: []rig.Step{rig.Act("$own", `{"do":"label-chat","chat":"$anne","label":"7"}`)},
			want:  `{"type":"chat","chatJid":"$anne@s.whatsapp.net","labelId":"7","action":"add","dateTime":"*"}`,
		},
		{
			kind: event.LabelsAssociation, trigger: "LabelAssociationMessage", typ: string(event.LabelOnMessage),
			steps: []rig.Step{rig.Act("$own", `{"do":"label-message","chat":"$anne","id":"$msg.id","label":"7","labeled":false}`)},
			want:  `{"type":"message","chatJid":"$anne@s.whatsapp.net","messageId":"$msg.id","labelId":"7","action":"remove","dateTime":"*"}`,
		},
		{
			kind: event.SettingsUpdate, trigger: "PushNameSetting", typ: string(event.SettingPushName),
			steps: []rig.Step{rig.Act("$own", `{"do":"push-name-setting","name":"The Shop"}`)},
			want:  `{"type":"push.name","jid":"$own@s.whatsapp.net","name":"The Shop","fromFullSync":false,"dateTime":"*"}`,
		},
		{
			kind: event.SettingsUpdate, trigger: "UserStatusMute", typ: string(event.SettingUserStatusMute),
			steps: []rig.Step{rig.Act("$own", `{"do":"status-mute","to":"$anne","muted":true}`)},
			want:  `{"type":"user.status.mute","jid":"$anne@s.whatsapp.net","muted":true,"fromFullSync":false,"dateTime":"*"}`,
		},
		{
			kind: event.StatusInstance, trigger: "AppState", typ: string(event.StatusAppState),
			steps: []rig.Step{rig.Act("$own", `{"do":"archive","chat":"$bob","archived":false}`)},
			want:  `{"type":"app.state","data":{"index":["archive","*"],"value":"*"}}`,
		},
		{
			kind: event.StatusInstance, trigger: "AppStateSyncError", typ: string(event.StatusAppStateSyncError),
			steps: []rig.Step{rig.Act("$own", `{"do":"app-state-error"}`)},
			want:  `{"type":"app.state.sync.error","status":"error","message":"*","data":{"name":"*"}}`,
		},
		{
			kind: event.HistorySync, trigger: "HistorySync", typ: "history.sync",
			steps: []rig.Step{rig.Act("$own", `{"do":"history-sync","syncType":"RECENT","conversations":2,"messages":3,"progress":40}`)},
			want:  `{"type":"history.sync","dateTime":"*","data":{"syncType":"RECENT","progress":40,"conversations":2,"messages":6}}`,
		},
		{
			kind: event.MediaRetry, trigger: "MediaRetry",
			steps: []rig.Step{rig.Act("$own", `{"do":"media-retry","chat":"$anne","id":"$msg.id"}`)},
			want:  `{"messageId":"$msg.id","chatJid":"$anne@s.whatsapp.net","keyFromMe":false,"hasCiphertext":true,"dateTime":"*"}`,
		},
		{
			kind: event.MediaRetry, trigger: "MediaRetry", note: "refused",
			steps: []rig.Step{rig.Act("$own", `{"do":"media-retry","chat":"$anne","id":"$msg.id","error":2}`)},
			want:  `{"messageId":"$msg.id","hasCiphertext":false,"errorCode":2}`,
		},
	}
}

func statusRows() []triggerRow {
	return []triggerRow{
		{
			kind: event.StatusInstance, trigger: "OfflineSyncPreview", typ: string(event.StatusOfflineSyncPreview),
			steps: []rig.Step{rig.Act("$own", `{"do":"offline-preview"}`)},
			want:  `{"type":"offline.sync.preview","data":{"total":"*","messages":"*"}}`,
		},
		{
			kind: event.StatusInstance, trigger: "OfflineSyncCompleted", typ: string(event.StatusOfflineSyncCompleted),
			steps: []rig.Step{rig.Act("$own", `{"do":"offline-preview"}`)},
			want:  `{"type":"offline.sync.completed","status":"completed","data":{"count":"*"}}`,
		},
		{
			kind: event.StatusInstance, trigger: "refused sends", typ: string(event.StatusAccountRestricted),
			steps: []rig.Step{
				rig.Act("$own", `{"do":"reachout-timelock","seconds":3600,"silent":true}`),
				rig.Route("POST", "/instance/$name/send/text", `{"number":"5511944444444","textMessage":{"text":"hello"}}`).Failing(),
				rig.Act("$own", `{"do":"reachout-timelock"}`),
			},
			want: `{"type":"account.restricted","status":"active","message":"*","reason":{"code":463,"count":1,"until":"*"}}`,
		},
		{
			kind: event.StatusInstance, trigger: "NotifyAccountReachoutTimelock", typ: string(event.StatusAccountReachoutTimelock),
			steps: []rig.Step{rig.Act("$own", `{"do":"reachout-timelock","seconds":3600}`)},
			want:  `{"type":"account.reachout.timelock","status":"active","data":{"active":true,"until":"*"}}`,
		},
		{
			kind: event.StatusInstance, trigger: "TemporaryBan", typ: string(event.StatusTemporaryBan),
			steps: []rig.Step{rig.Act("$own", `{"do":"temp-ban","code":102,"expire":3600}`)},
			want:  `{"type":"temporary.ban","status":"temporary_ban","message":"*","data":{"code":102,"expireSeconds":3600,"until":"*"}}`,
		},
		{
			kind: event.StatusInstance, trigger: "ClientOutdated", typ: string(event.StatusClientOutdated),
			steps: []rig.Step{rig.Act("$own", `{"do":"client-outdated"}`)},
			want:  `{"type":"client.outdated","status":"client_outdated","message":"*"}`,
		},
	}
}

func connectionRows() []triggerRow {
	row := func(trigger string, kind event.ConnectionType, body, want string) triggerRow {
		return triggerRow{
			kind: event.ConnectionUpdated, trigger: trigger, typ: string(kind), steps: []rig.Step{rig.Act("$own", body)},
			want: `{"type":"` + string(kind) + `"` + want + `}`,
		}
	}
	return []triggerRow{
		row("Disconnected", event.TypeDisconnected, `{"do":"drop"}`, `,"connection":"close","lastConnection":"*"`),
		row("StreamReplaced", event.TypeStreamReplaced, `{"do":"stream-replaced"}`, `,"connection":"replaced"`),
		row("StreamError", event.TypeStreamError, `{"do":"stream-error","code":599}`, `,"connection":"close","statusReason":599`),
		row("ConnectFailure", event.TypeConnectFailure, `{"do":"connect-failure","reason":409}`, `,"connection":"close","statusReason":409`),
		row("CATRefreshError", event.TypeCATRefreshError, `{"do":"cat-refresh-error"}`, `,"connection":"close","message":"*"`),
		row("KeepAliveTimeout", event.TypeKeepAliveLost, `{"do":"keepalive-timeout","seconds":3}`, `,"connection":"timeout"`),
		row("KeepAliveRestored", event.TypeKeepAliveBack, `{"do":"keepalive-timeout","seconds":3}`, `,"connection":"open"`),
		row("LoggedOut", event.TypeLoggedOut, `{"do":"logout"}`, `,"connection":"close","statusReason":401,"lastConnection":"*"`),
		{ // a phone gives its state to a device that it was linked with
			kind: event.StatusInstance, trigger: "AppStateSyncComplete", typ: string(event.StatusAppStateSyncCompleted), unpaired: true,
			before: []rig.Step{rig.Route(http.MethodPost, "/instance/$name/connect", "").As("qr")},
			steps:  []rig.Step{{Method: http.MethodPost, Path: "/sandbox/scan", Body: `{"phone":"$own","code":"$qr.code"}`}},
			want:   `{"type":"app.state.sync.completed","status":"completed","data":{"name":"*","version":"*"}}`,
		},
	}
}
