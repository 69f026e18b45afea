package event

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
