package event

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
