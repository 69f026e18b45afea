package chats

import (
	"net/http"

	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
)

func groupDescriptions() map[string]rest.Words {
	group := []string{"groupJid"}
	return map[string]rest.Words{
		"POST /instance/{i}/group": {
			ID: "createGroup", Summary: "Create a group.", Once: true, In: rest.TypeOf[createGroupRequest](),
			Example: `{"subject":"Summer party","participants":["4915112345678"]}`, Status: http.StatusCreated, Out: rest.TypeOf[event.CreatedGroup](),
			Codes: rest.AboutPeople(event.SendResultUnknown),
		},
		"GET /instance/{i}/group":  {ID: "getGroup", Summary: "Show a group.", Query: group, Out: rest.TypeOf[event.GroupUpsert](), Codes: rest.AboutGroup()},
		"GET /instance/{i}/groups": {ID: "listGroups", Summary: "List the groups that the account is in.", Out: rest.TypeOf[[]event.GroupUpsert](), Codes: rest.Asking(rest.CodeInvalidQuery)},
		"PUT /instance/{i}/group/update-picture": {
			ID: "setGroupPicture", Summary: "Change or remove a group's picture: from a URL, an upload, or as a multipart body.", Query: group, In: rest.TypeOf[pictureRequest](),
			Example: `{"groupJid":"` + rest.ExampleGroup + `","image":"https://example.org/group.jpg"}`, Form: group, Out: rest.TypeOf[PicturedGroup](),
			Codes: rest.AboutGroup("INVALID_MEDIA", "INVALID_MESSAGE", "UPLOAD_NOT_FOUND", "MEDIA_GONE", "DISK_FULL"),
		},
		"PUT /instance/{i}/group/update-participants": {
			ID: "updateGroupParticipants", Summary: "Add, remove, promote or demote members of a group.", About: "204 when all changes succeeded; the result for each member when one failed, or with details=true.", Query: []string{"groupJid", details}, In: rest.TypeOf[membersRequest](),
			Example: `{"groupJid":"` + rest.ExampleGroup + `","action":"add","participants":["4915112345678"]}`, Out: rest.TypeOf[membersAnswer](), Also: []openapi.Answer{{Status: http.StatusNoContent}}, Codes: rest.AboutGroup(),
		},
		"PUT /instance/{i}/group/subject": {
			ID: "setGroupSubject", Summary: "Change a group's subject.", Query: group, In: rest.TypeOf[subjectRequest](),
			Example: `{"groupJid":"` + rest.ExampleGroup + `","subject":"Winter party"}`, Out: rest.TypeOf[subjectAnswer](), Codes: rest.AboutGroup(),
		},
		"PUT /instance/{i}/group/description": {
			ID: "setGroupDescription", Summary: "Change or remove a group's description.", Query: group, In: rest.TypeOf[descriptionRequest](),
			Example: `{"groupJid":"` + rest.ExampleGroup + `","description":"We meet at eight."}`, Out: rest.TypeOf[descriptionAnswer](), Codes: rest.AboutGroup(),
		},
		"PUT /instance/{i}/group/settings": {
			ID: "setGroupSettings", Summary: "Change the settings of a group.", Query: group, In: rest.TypeOf[settingsRequest](),
			Example: `{"groupJid":"` + rest.ExampleGroup + `","announce":true}`, Out: rest.TypeOf[settingsAnswer](), Codes: rest.AboutGroup(),
		},
		"GET /instance/{i}/group/invitation-code": {
			ID: "getGroupInvitation", Summary: "Show the invite code of a group.", Query: group, Out: rest.TypeOf[inviteAnswer](), Codes: rest.AboutGroup(),
		},
		"PUT /instance/{i}/group/revoke-invitation": {
			ID: "revokeGroupInvitation", Summary: "Replace the invite code of a group.", About: "204, or with details=true the new code.", Query: []string{"groupJid", details}, In: rest.TypeOf[groupTarget](),
			Example: `{"groupJid":"` + rest.ExampleGroup + `"}`, Status: http.StatusNoContent, Also: []openapi.Answer{{Status: http.StatusOK, Type: rest.TypeOf[newInvite]()}}, Codes: rest.AboutGroup(),
		},
		"GET /instance/{i}/group/invitation": {
			ID: "getInvitedGroup", Summary: "Show the group of an invite code, without joining it.", Query: []string{"inviteCode"}, Out: rest.TypeOf[event.GroupUpsert](), Codes: rest.AboutPeople(),
		},
		"POST /instance/{i}/group/join": {
			ID: "joinGroup", Summary: "Join a group by its invite code.", In: rest.TypeOf[JoinRequest](), Example: `{"inviteCode":"AbCdEfGhIjKlMnOpQrStUv"}`, Out: rest.TypeOf[joinedGroup](), Codes: rest.AboutPeople(),
		},
		"GET /instance/{i}/group/join-requests": {
			ID: "listJoinRequests", Summary: "List the requests to join a group.", Query: group, Out: rest.TypeOf[[]event.JoinRequest](), Codes: rest.AboutGroup(),
		},
		"PUT /instance/{i}/group/join-requests": {
			ID: "decideJoinRequests", Summary: "Approve or reject requests to join a group.", Query: group, In: rest.TypeOf[decideRequest](),
			Example: `{"groupJid":"` + rest.ExampleGroup + `","action":"approve","participants":["4915112345678"]}`, Out: rest.TypeOf[decideAnswer](), Codes: rest.AboutGroup(),
		},
		"DELETE /instance/{i}/group/leave": {ID: "leaveGroup", Summary: "Leave a group.", Query: group, Status: http.StatusNoContent, Codes: rest.AboutGroup()},
	}
}

func channelDescriptions() map[string]rest.Words {
	const example = `{"newsletterJid":"120363012345678901@newsletter"}`
	return map[string]rest.Words{
		"GET /instance/{i}/newsletters": {ID: "listNewsletters", Summary: "List the newsletters that the account follows.", Out: rest.TypeOf[[]event.Channel](), Codes: rest.Asking(rest.CodeInvalidQuery)},
		"GET /instance/{i}/newsletter": {
			ID: "getNewsletter", Summary: "Show a newsletter, by its JID or its invite code.", Query: []string{"newsletterJid", "inviteCode"}, Out: rest.TypeOf[event.Channel](), Codes: rest.AboutPeople(),
		},
		"POST /instance/{i}/newsletter/follow": {
			ID: "followNewsletter", Summary: "Follow a newsletter.", In: rest.TypeOf[channelRequest](), Example: example, Out: rest.TypeOf[followAnswer](), Codes: rest.AboutPeople(),
		},
		"POST /instance/{i}/newsletter/unfollow": {
			ID: "unfollowNewsletter", Summary: "Unfollow a newsletter.", In: rest.TypeOf[channelRequest](), Example: example, Out: rest.TypeOf[followAnswer](), Codes: rest.AboutPeople(),
		},
		"POST /instance/{i}/newsletter/mute": {
			ID: "muteNewsletter", Summary: "Mute a newsletter that is followed.", In: rest.TypeOf[channelRequest](), Example: example, Out: rest.TypeOf[MuteAnswer](), Codes: rest.AboutPeople(),
		},
		"POST /instance/{i}/newsletter/unmute": {
			ID: "unmuteNewsletter", Summary: "Unmute a newsletter.", In: rest.TypeOf[channelRequest](), Example: example, Out: rest.TypeOf[MuteAnswer](), Codes: rest.AboutPeople(),
		},
	}
}

func labelDescriptions() map[string]rest.Words {
	return map[string]rest.Words{
		"GET /instance/{i}/labels": {ID: "listLabels", Summary: "List the labels of a business account.", Out: rest.TypeOf[[]event.Label](), Codes: rest.Asking(rest.CodeInvalidQuery)},
		"POST /instance/{i}/label": {
			ID: "createLabel", Summary: "Create a label.", Once: true, In: rest.TypeOf[createLabelRequest](), Example: `{"name":"New order","color":3}`,
			Status: http.StatusCreated, Out: rest.TypeOf[event.Label](), Codes: rest.Sharing(event.SendResultUnknown),
		},
		"PUT /instance/{i}/label": {
			ID: "updateLabel", Summary: "Change a label.", In: rest.TypeOf[editLabelRequest](), Example: `{"labelId":"4","name":"Paid"}`, Out: rest.TypeOf[event.Label](), Codes: rest.Sharing("LABEL_NOT_FOUND"),
		},
		"DELETE /instance/{i}/label": {ID: "deleteLabel", Summary: "Delete a label.", Query: []string{"labelId"}, Out: rest.TypeOf[deletedLabel](), Codes: rest.Sharing("LABEL_NOT_FOUND")},
		"POST /instance/{i}/label/assign": {
			ID: "assignLabel", Summary: "Put a label on a chat.", In: rest.TypeOf[labelChatRequest](), Example: `{"labelId":"4","chat":"4915112345678"}`,
			Out: rest.TypeOf[labelChatAnswer](), Codes: rest.AboutPeople("LABEL_NOT_FOUND", "APP_STATE_CONFLICT"),
		},
		"POST /instance/{i}/label/unassign": {
			ID: "unassignLabel", Summary: "Remove a label from a chat.", In: rest.TypeOf[labelChatRequest](), Example: `{"labelId":"4","chat":"4915112345678"}`,
			Out: rest.TypeOf[labelChatAnswer](), Codes: rest.AboutPeople("LABEL_NOT_FOUND", "APP_STATE_CONFLICT"),
		},
	}
}

// GroupFields are the fields of groups, newsletters and labels.
func GroupFields() openapi.Fields {
	chars := openapi.Chars
	people := rest.Say("The people: phone numbers or JIDs.", []any{rest.ExamplePhone}, openapi.Items(1, event.MaxMembers-1))
	results := rest.Say("The result for each.", nil)
	all := openapi.Fields{
		"Group.id":                      rest.Say("The JID of the group.", rest.ExampleGroup),
		"Group.subject":                 rest.Say("Its subject.", "Summer party"),
		"Group.participants":            rest.Say("Its members.", nil),
		"Participant.id":                rest.Say("The JID of the member: the phone JID where it is known, else the LID.", rest.ExampleJID),
		"Participant.admin":             rest.Say("The role of the member; null for an ordinary member.", string(event.RoleAdmin)),
		"Participant.isAdmin":           rest.Say("Whether the member is an admin.", false),
		"Participant.isSuperAdmin":      rest.Say("Whether the member created the group.", false),
		"CreatedGroup.notAdded":         rest.Say("The people who were not added, and why.", nil),
		"CreatedGroup.descriptionError": rest.Say("Why the description could not be set; absent when it was, or none was given.", "refused"),

		"CreateGroupRequest.participants": people,
		"CreateGroupRequest.description":  rest.Say("The group's description.", "We meet at eight.", chars(0, event.MaxDescription)),
		"MembersRequest.participants":     people,
		"MembersRequest.action":           rest.Say("The change.", string(event.ParticipantAdd)),
		"MembersAnswer.action":            rest.Say("The change.", string(event.ParticipantAdd)),
		"MembersAnswer.participants":      results,
		"DecideRequest.participants":      people,
		"DecideRequest.action":            rest.Say("The decision.", string(approve), openapi.OneOf(approve, reject)),
		"DecideAnswer.action":             rest.Say("The decision.", string(approve), openapi.OneOf(approve, reject)),
		"DecideAnswer.participants":       results,
		"MemberResult.status":             rest.Say("200 on success, else WhatsApp's code for the refusal.", event.MemberChanged),
		"MemberResult.invitation":         rest.Say("An invitation to send to a person who cannot be added directly.", nil),
		"Invitation.code":                 rest.Say("The code of the invitation.", "AbCdEfGh"),
		"DescriptionRequest.description":  rest.Say("The group's description; empty to remove it.", "We meet at eight.", chars(0, event.MaxDescription)),
		"DescriptionAnswer.description":   rest.Say("The group's description now.", "We meet at eight."),
		"PictureRequest.image":            rest.Say("The http or https URL of the picture; empty to remove the picture.", "https://example.org/group.jpg", chars(0, event.MaxURL)),
		"GroupWithPicture.pictureId":      rest.Say("WhatsApp's id of the new picture; empty when it was removed.", "1709294400"),
		"InviteAnswer.invitation":         rest.Say("The link of the invitation.", event.InviteLinkPrefix+"AbCdEfGhIjKlMnOpQrStUv", openapi.Format("uri")),
		"NewInvite.invitation":            rest.Say("The link of the new invitation.", event.InviteLinkPrefix+"AbCdEfGhIjKlMnOpQrStUv", openapi.Format("uri")),
		"JoinedGroup.joined":              rest.Say("Whether the account is a member now; false while admins decide.", true),
		"JoinRequest.requestedAt":         rest.Say("When the person asked.", rest.ExampleTime),

		"Newsletter.jid":          rest.Say("The JID of the newsletter.", "120363012345678901@newsletter"),
		"Newsletter.name":         rest.Say("Its name.", "News of the engine"),
		"Newsletter.description":  rest.Say("Its description.", "Once a week"),
		"Newsletter.subscribers":  rest.Say("The number of followers.", 1200, openapi.AtLeast(0)),
		"Newsletter.verification": rest.Say("Whether WhatsApp verified it.", "verified", openapi.OneOf("verified", "unverified")),
		"Newsletter.state":        rest.Say("The state of the newsletter.", "active", openapi.OneOf("active", "suspended", "geosuspended")),
		"Newsletter.role":         rest.Say("The role of the account; absent when the newsletter was found by its invitation.", "subscriber", openapi.OneOf("owner", "admin", "subscriber", "guest")),
		"FollowAnswer.following":  rest.Say("Whether the account follows it now.", true),

		"Label.id":                rest.Say("The label's id: digits.", "4"),
		"Label.name":              rest.Say("The label's name.", "Paid"),
		"CreateLabelRequest.name": rest.Say("The label's name.", "Paid", chars(1, event.MaxLabelName)),
		"LabelChange.name":        rest.Say("The label's name.", "Paid", chars(1, event.MaxLabelName)),
		"DeletedLabel.deleted":    rest.Say("Always true.", true),
		"LabelChatAnswer.labeled": rest.Say("Whether the chat has the label now.", true),
	}
	for name, f := range map[string]openapi.Field{
		"addressingMode":       rest.Say("How its members address each other: by pn or lid.", "lid"),
		"authorPn":             rest.Say("The phone JID of who did it, where it is known.", rest.ExampleJID),
		"authorUsername":       rest.Say("The username of who did it.", "ada"),
		"creation":             rest.Say("When it was created, in Unix seconds.", 1772366400),
		"desc":                 rest.Say("Its description; empty when it was removed.", "We meet at eight."),
		"descId":               rest.Say("WhatsApp's id of the description.", "3EB0"),
		"descOwner":            rest.Say("The JID of who wrote the description.", rest.ExampleJID),
		"descOwnerPn":          rest.Say("The phone JID of who wrote the description.", rest.ExampleJID),
		"descOwnerUsername":    rest.Say("The username of who wrote the description.", "ada"),
		"descTime":             rest.Say("When the description was written, in Unix seconds.", 1772366400),
		"isCommunity":          rest.Say("Whether it is a community.", false),
		"isCommunityAnnounce":  rest.Say("Whether it is the announcement group of a community.", false),
		"linkedParent":         rest.Say("The JID of the community that it belongs to.", rest.ExampleGroup),
		"notify":               rest.Say("The name that its creator chose.", "Ada"),
		"owner":                rest.Say("The JID of the creator.", rest.ExampleJID),
		"ownerCountryCode":     rest.Say("The country of the creator.", "DE"),
		"ownerPn":              rest.Say("The phone JID of the creator.", rest.ExampleJID),
		"ownerUsername":        rest.Say("The username of the creator.", "ada"),
		"size":                 rest.Say("How many members it has.", 12, openapi.AtLeast(0)),
		"subjectOwner":         rest.Say("The JID of who wrote the subject.", rest.ExampleJID),
		"subjectOwnerPn":       rest.Say("The phone JID of who wrote the subject.", rest.ExampleJID),
		"subjectOwnerUsername": rest.Say("The username of who wrote the subject.", "ada"),
		"subjectTime":          rest.Say("When the subject was written, in Unix seconds.", 1772366400),
	} {
		all["GroupMetadata."+name] = f
	}
	return all
}
