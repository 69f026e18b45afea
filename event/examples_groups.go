package event

func groupExamples(kind Kind) []Example {
	member := Participant{ID: exampleContact, LID: exampleLID}
	admin := Participant{exampleOwner, of(RoleSuperAdmin), true, true, "100000000000001@lid"}
	switch kind {
	case GroupsParticipantsEvent:
		full := GroupParticipantsUpdate{exampleGroup, "100000000000001@lid", exampleOwner, Participants{admin, member}, ParticipantAdd}
		act := func(a ParticipantAction) any {
			u := full
			u.Participants, u.Action = Participants{member}, a
			if a == ParticipantPromote {
				u.Participants = Participants{{exampleContact, of(RoleAdmin), true, false, exampleLID}}
			}
			return u
		}
		return examples(full, GroupParticipantsUpdate{ID: exampleGroup, Action: ParticipantRemove}, typed(ParticipantAction.values(""), act))
	case GroupsUpdate:
		return examples(
			[]GroupUpdate{{GroupPartial{exampleGroup, "Bakers", exampleMetadata()}}},
			[]GroupUpdate{{GroupPartial{ID: exampleGroup}}},
			[]Example{
				{"desc.removed", []GroupUpdate{{GroupPartial{ID: exampleGroup, GroupMetadata: GroupMetadata{Desc: of("")}}}}},
				{"announce.off", []GroupUpdate{{GroupPartial{ID: exampleGroup, GroupMetadata: GroupMetadata{Announce: of(false)}}}}},
				{"ephemeral.off", []GroupUpdate{{GroupPartial{ID: exampleGroup, GroupMetadata: GroupMetadata{EphemeralDuration: of(int64(0))}}}}},
			},
		)
	case GroupsUpsert:
		return examples(
			[]GroupUpsert{{exampleGroup, "Bakers", Participants{admin, member}, exampleMetadata()}},
			[]GroupUpsert{{ID: exampleGroup}},
		)
	default:
		return nil
	}
}

func exampleMetadata() GroupMetadata {
	return GroupMetadata{
		Notify: "Bakers", AddressingMode: "lid",
		Owner: exampleOwner, OwnerPN: exampleOwner, OwnerUsername: "owner", OwnerCountryCode: "DE",
		SubjectOwner: exampleOwner, SubjectOwnerPN: exampleOwner, SubjectOwnerUsername: "owner",
		SubjectTime: exampleBefore.Unix(), Creation: exampleBefore.Unix(),
		Desc: of("Bread & more"), DescOwner: exampleOwner, DescOwnerPN: exampleOwner, DescOwnerUsername: "owner",
		DescID: "3EB0D1", DescTime: exampleBefore.Unix(), LinkedParent: of("120363000000000009@g.us"),
		Restrict: of(true), Announce: of(false), MemberAddMode: of(true), JoinApprovalMode: of(false),
		IsCommunity: of(false), IsCommunityAnnounce: of(false), Size: 2, EphemeralDuration: of(int64(86400)),
		InviteCode: "AbCdEfGhIjK", Author: exampleOwner, AuthorPN: exampleOwner, AuthorUsername: "owner",
	}
}
