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

func groupParticipantsExamples() []Example {
	admin, member := exampleMembers()
	full := GroupParticipantsUpdate{exampleGroup, "100000000000001@lid", exampleOwner, Participants{admin, member}, ParticipantAdd}
	act := func(a ParticipantAction) any {
		u := full
		u.Participants, u.Action = Participants{member}, a
		if a == ParticipantPromote {
			u.Participants = Participants{{exampleContact, new(RoleAdmin), true, false, exampleLID}}
		}
		return u
	}
	return examples(full, GroupParticipantsUpdate{ID: exampleGroup, Action: ParticipantRemove}, typed(ParticipantAction.values(""), act))
}

func groupUpdateExamples() []Example {
	return examples(
		[]GroupUpdate{{GroupPartial{exampleGroup, "Bakers", exampleMetadata()}}},
		[]GroupUpdate{{GroupPartial{ID: exampleGroup}}},
		[]Example{
			{"desc.removed", []GroupUpdate{{GroupPartial{ID: exampleGroup, GroupMetadata: GroupMetadata{Desc: new("")}}}}},
			{"announce.off", []GroupUpdate{{GroupPartial{ID: exampleGroup, GroupMetadata: GroupMetadata{Announce: new(false)}}}}},
			{"ephemeral.off", []GroupUpdate{{GroupPartial{ID: exampleGroup, GroupMetadata: GroupMetadata{EphemeralDuration: new(int64(0))}}}}},
		},
	)
}

func groupUpsertExamples() []Example {
	admin, member := exampleMembers()
	return examples(
		[]GroupUpsert{{exampleGroup, "Bakers", Participants{admin, member}, exampleMetadata()}},
		[]GroupUpsert{{ID: exampleGroup}},
	)
}

func exampleMembers() (admin, member Participant) {
	return Participant{exampleOwner, new(RoleSuperAdmin), true, true, "100000000000001@lid"}, Participant{ID: exampleContact, LID: exampleLID}
}

func exampleMetadata() GroupMetadata {
	return GroupMetadata{
		Notify: "Bakers", AddressingMode: "lid",
		Owner: exampleOwner, OwnerPN: exampleOwner, OwnerUsername: "owner", OwnerCountryCode: "DE",
		SubjectOwner: exampleOwner, SubjectOwnerPN: exampleOwner, SubjectOwnerUsername: "owner",
		SubjectTime: exampleBefore.Unix(), Creation: exampleBefore.Unix(),
		Desc: new("Bread & more"), DescOwner: exampleOwner, DescOwnerPN: exampleOwner, DescOwnerUsername: "owner",
		DescID: "3EB0D1", DescTime: exampleBefore.Unix(), LinkedParent: new("120363000000000009@g.us"),
		Restrict: new(true), Announce: new(false), MemberAddMode: new(true), JoinApprovalMode: new(false),
		IsCommunity: new(false), IsCommunityAnnounce: new(false), Size: 2, EphemeralDuration: new(int64(86400)),
		InviteCode: "AbCdEfGhIjK", Author: exampleOwner, AuthorPN: exampleOwner, AuthorUsername: "owner",
	}
}
