package event

import "encoding/json"

func callExamples() []Example {
	call := func(s CallStatus) any {
		return Call{
			ChatID: exampleContact, From: exampleContact, CallerPN: new(exampleContact), IsGroup: new(false),
			ID: "A1B2C3D4E5F6", Date: At(exampleTime), IsVideo: new(true), Status: s,
		}
	}
	return examples(
		Call{
			ChatID: exampleGroup, From: exampleContact, CallerPN: new(exampleContact), IsGroup: new(true), GroupJID: new(exampleGroup),
			ID: "A1B2C3D4E5F6", Date: At(exampleTime), IsVideo: new(true), Status: CallOffer, Offline: true, LatencyMs: new(int64(84)),
		},
		Call{ChatID: exampleLID, From: exampleLID, ID: "A1B2C3D4E5F6", Date: At(exampleTime), Status: CallUnknown},
		typed(CallStatus.values(""), call),
	)
}

func chatDeleteExamples() []Example {
	return examples(
		ChatDelete{ChatJID: exampleContact, DateTime: At(exampleTime), DeleteMedia: new(true), Extra: Extra{"fromFullSync": false}},
		ChatDelete{ChatJID: exampleContact, DateTime: At(exampleTime)},
	)
}

func chatUpdateExamples() []Example {
	return examples(
		ChatUpdate{ChatMute, At(exampleTime), exampleContact, new(true), Extra{"muted": true, "muteEndTimestamp": exampleTime.Unix()}},
		ChatUpdate{Type: ChatBlocklist, DateTime: At(exampleTime)},
		typed(ChatUpdateType.values(""), chatUpdateExample),
	)
}

func chatUpdateExample(t ChatUpdateType) any {
	u := ChatUpdate{Type: t, DateTime: At(exampleTime), ChatJID: exampleContact, FromFullSync: new(false)}
	switch t {
	case ChatBlocklist:
		u.ChatJID, u.FromFullSync = "", nil
		u.Extra = Extra{"action": "modify", "changes": []any{map[string]any{"jid": exampleContact, "action": "block"}}}
	case ChatBlocklistChange:
		u.FromFullSync = nil
		u.Extra = Extra{"action": "block"}
	case ChatArchive:
		u.Extra = Extra{"archived": true}
	case ChatUnarchiveSetting:
		u.ChatJID, u.Extra = "", Extra{"unarchiveChats": true}
	case ChatClear:
		u.Extra = Extra{"deleteMedia": true}
	case ChatPin:
		u.Extra = Extra{"pinned": true}
	case ChatMute:
		u.Extra = Extra{"muted": true}
	case ChatMarkRead:
		u.Extra = Extra{"read": true}
	}
	return u
}

func labelAssociationExamples() []Example {
	onMessage := LabelAssociation{
		Type: LabelOnMessage, ChatJID: exampleContact, MessageID: exampleKeyID, LabelID: "4",
		Action: LabelAdd, DateTime: At(exampleTime), Extra: Extra{"fromFullSync": false},
	}
	onChat := LabelAssociation{Type: LabelOnChat, ChatJID: exampleContact, LabelID: "4", DateTime: At(exampleTime)}
	action := func(a LabelAction) any { l := onChat; l.Action = a; return l }
	return examples(onMessage, onChat, []Example{{"chat", action(LabelAdd)}, {"message", onMessage}}, typed(LabelAction.values(""), action))
}

func labelEditExamples() []Example {
	return examples(
		LabelEdit{"4", "Paid", new(0), new(false), Extra{"orderIndex": 2}},
		LabelEdit{ID: "4"},
		[]Example{{"deleted", LabelEdit{ID: "4", Deleted: new(true)}}},
	)
}

func contactUpdateExamples() []Example {
	named := ContactUpdate{
		ID: 12, RemoteJID: exampleContact, LID: new(exampleLID), PushName: new("Ada"), Action: ContactUpdated, Source: SourcePushName,
	}
	full := named
	full.BusinessName = new("Ada's Bakery")
	business := full
	business.PushName, business.Source = nil, SourceBusinessName
	least := ContactUpdate{ID: 12, RemoteJID: exampleContact, Action: ContactUpdated, Source: SourcePushName}
	return examples([]ContactUpdate{full}, []ContactUpdate{least}, []Example{
		{string(SourcePushName), []ContactUpdate{named}},
		{string(SourceBusinessName), []ContactUpdate{business}},
	})
}

func contactUpsertExamples() []Example {
	return examples(
		ContactUpsert{12, exampleContact, new(exampleLID), new("Ada"), new("https://pps.whatsapp.net/v/t61/1.jpg"), ContactUpserted},
		ContactUpsert{ID: 12, RemoteJID: exampleContact, Action: ContactUpserted},
	)
}

func messageExamples() []Example {
	full := exampleMessage()
	full.Media = exampleMediaLink()
	return examples(full, exampleLeastMessage())
}

func exampleMediaLink() *MediaLink {
	return &MediaLink{
		URL:       "https://example.org/media/AQAAAAAAAAABAAAAAAAAAVkAAAAAaa4ngAAAAAAAAAAAm1Z3JkQ0dU0m3vXq6o8b1w/image-345.jpg",
		ExpiresAt: At(exampleTime), Kind: MediaImage, MimeType: "image/jpeg", FileName: "image-345.jpg", Size: 48213,
		SHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	}
}

func sendExamples() []Example {
	full, least := exampleMessage(), exampleLeastMessage()
	full.KeyFromMe, full.InstanceID, full.ExternalAttributes, full.Media = true, 1, Attributes(`{"order":77}`), exampleMediaLink()
	least.KeyFromMe = true
	return examples(full, least, []Example{
		{"result.sent", SendResult{
			ProcessID: "0196a000-0000-7000-8000-000000000001", Status: AsyncSent, MentionAll: true, ExternalAttributes: Attributes(`{"order":77}`),
			Data: &AsyncMessage{exampleKeyID, exampleGroup, 2, At(exampleTime)},
		}},
		{"result.failed", SendResult{
			ProcessID: "0196a000-0000-7000-8000-000000000001", Status: AsyncFailed, MentionAll: true,
			Error: &AsyncSendFail{SendMessageFailed, "the server refused the message"},
		}},
		{"scheduled.failed", ScheduledFailure{
			ScheduledID: "0196a000-0000-7000-8000-000000000002", Status: AsyncFailed, ExternalAttributes: Attributes(`{"order":77}`),
			Error: &AsyncSendFail{TooLate, "the message could not be sent within 600 seconds of its time"},
		}},
	})
}

func messageUpdateExamples() []Example {
	update := func(s UpdateStatus) any { return MessageUpdate{345, s, At(exampleTime)} }
	return examples(update(StatusRead), update(StatusRead), typed(UpdateStatus.values(""), update))
}

func exampleMessage() Message {
	return Message{
		ID: 345, KeyID: exampleKeyID, KeyRemoteJID: new(exampleGroup), KeyLID: new(exampleLID),
		KeyParticipant: new(exampleContact), KeyParticipantLID: new(exampleLID), PushName: new("Ada"),
		MessageType: "extendedTextMessage", Content: json.RawMessage(`{"text":"two loaves, please","matchedText":"https://example.com"}`),
		MessageTimestamp: exampleTime.Unix(), Device: new("android"), IsGroup: true, Metadata: json.RawMessage(`{"edited":true}`),
	}
}

func exampleLeastMessage() Message {
	return Message{
		ID: 345, KeyID: exampleKeyID, MessageType: "conversation", Content: json.RawMessage(`{"text":"two loaves, please"}`),
		MessageTimestamp: exampleTime.Unix(),
	}
}

func messageDeleteExamples() []Example {
	return examples(
		MessageDelete{345, exampleGroup, exampleContact, true, exampleKeyID, true, true, At(exampleTime), At(exampleBefore)},
		MessageDelete{ChatJID: exampleContact, MessageID: exampleKeyID, DateTime: At(exampleTime)},
	)
}

func messageStarExamples() []Example {
	return examples(
		MessageStar{exampleGroup, exampleContact, true, exampleKeyID, true, true, At(exampleTime)},
		MessageStar{ChatJID: exampleContact, MessageID: exampleKeyID, DateTime: At(exampleTime)},
	)
}

func undecryptableExamples() []Example {
	return examples(
		MessageUndecryptable{exampleKeyID, exampleGroup, exampleContact, true, true, UnavailableViewOnce, DecryptFailHide, At(exampleTime)},
		MessageUndecryptable{KeyID: exampleKeyID, ChatJID: exampleContact, DateTime: At(exampleTime)},
	)
}

func mediaRetryExamples() []Example {
	return examples(
		MediaAnswer{exampleKeyID, exampleGroup, exampleContact, true, true, 2, At(exampleTime)},
		MediaAnswer{MessageID: exampleKeyID, ChatJID: exampleContact, DateTime: At(exampleTime)},
	)
}
