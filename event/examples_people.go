package event

func pictureExamples() []Example {
	return examples(
		PictureUpdate{exampleGroup, exampleContact, At(exampleTime), true, "1714812600", true},
		PictureUpdate{JID: exampleContact, DateTime: At(exampleTime)},
	)
}

func aboutUpdateExamples() []Example {
	return examples(AboutUpdate{exampleContact, "At the oven", At(exampleTime)}, AboutUpdate{JID: exampleContact, DateTime: At(exampleTime)})
}

func identityExamples() []Example {
	return examples(IdentityChange{exampleContact, At(exampleTime), true}, IdentityChange{JID: exampleContact, DateTime: At(exampleTime)})
}

func settingsExamples() []Example {
	name := SettingsChange{Type: SettingPushName, Name: "The Shop", DateTime: At(exampleTime)}
	mute := SettingsChange{Type: SettingUserStatusMute, JID: exampleContact, Muted: new(false), DateTime: At(exampleTime)}
	return []Example{
		{string(SettingPushName), name},
		{string(SettingUserStatusMute), mute},
		{"full", SettingsChange{SettingUserStatusMute, exampleContact, "Ada", new(true), true, At(exampleTime)}},
		{"least", SettingsChange{Type: SettingPushName, DateTime: At(exampleTime)}},
	}
}

func newsletterExamples() []Example {
	return examples(
		NewsletterUpdate{NewsletterMuteChange, exampleChannel, At(exampleTime), Extra{"muted": true}},
		NewsletterUpdate{Type: NewsletterLiveUpdate, DateTime: At(exampleTime)},
		typed(NewsletterType.values(""), newsletterExample),
	)
}

// presenceExamples begins with real ones: no event has every field, because
// the two shapes differ.
func presenceExamples() []Example {
	full := PresenceUpdate{
		PresenceOfUser, exampleContact, exampleContact, ChatComposing, ChatMediaAudio, exampleContact,
		new(true), At(exampleBefore), At(exampleTime),
		Extra{"isGroup": false},
	}
	gone := PresenceUpdate{Type: PresenceOfUser, JID: exampleContact, Unavailable: new(true), LastSeen: At(exampleBefore), DateTime: At(exampleTime)}
	came := PresenceUpdate{Type: PresenceOfUser, JID: exampleContact, Unavailable: new(false), DateTime: At(exampleTime)}
	types := PresenceUpdate{ChatJID: exampleContact, SenderJID: exampleContact, State: ChatComposing, DateTime: At(exampleTime)}
	stops := types
	stops.State = ChatPaused
	records := types
	records.Media = ChatMediaAudio
	return []Example{
		{"presence.unavailable", gone},
		{"presence", came},
		{"composing", types},
		{"composing.audio", records},
		{"paused", stops},
		{"full", full},
		{"least", PresenceUpdate{DateTime: At(exampleTime)}},
	}
}

func newsletterExample(t NewsletterType) any {
	u := NewsletterUpdate{Type: t, NewsletterJID: exampleChannel, DateTime: At(exampleTime)}
	switch t {
	case NewsletterJoin:
		u.Extra = Extra{"name": "Bread news", "subscribers": 1200}
	case NewsletterLeave:
		u.Extra = Extra{"role": "guest"}
	case NewsletterLiveUpdate:
		u.Extra = Extra{"messages": []any{map[string]any{"serverId": 7, "views": 300, "reactions": map[string]any{"👍": 12}}}}
	case NewsletterMessageMeta:
		u.Extra = Extra{"messageId": exampleKeyID, "edited": true}
	case NewsletterMuteChange:
		u.Extra = Extra{"muted": true}
	}
	return u
}
