package httpapi

import (
	"net/http"

	"postern/event"
	"postern/httpapi/openapi"
)

// exampleGroup is the JID of a group.
const exampleGroup = "120363012345678901@g.us"

func groupDescriptions() map[string]description {
	group := []string{"groupJid"}
	return map[string]description{
		"POST /instance/{i}/group": {
			id: "createGroup", summary: "Create a group.", once: true, in: body[createGroupRequest](),
			example: `{"subject":"Summer party","participants":["4915112345678"]}`, status: http.StatusCreated, out: body[event.CreatedGroup](),
			codes: aboutPeople(event.SendResultUnknown),
		},
		"GET /instance/{i}/group":  {id: "getGroup", summary: "Show a group.", query: group, out: body[event.GroupUpsert](), codes: aboutGroup()},
		"GET /instance/{i}/groups": {id: "listGroups", summary: "List the groups that the account is in.", out: body[[]event.GroupUpsert](), codes: asking(codeInvalidQuery)},
		"PUT /instance/{i}/group/update-picture": {
			id: "setGroupPicture", summary: "Change or remove a group's picture: from a URL, an upload, or as a multipart body.", query: group, in: body[pictureRequest](),
			example: `{"groupJid":"` + exampleGroup + `","image":"https://example.org/group.jpg"}`, form: group, out: body[picturedGroup](),
			codes: aboutGroup("INVALID_MEDIA", "INVALID_MESSAGE", "UPLOAD_NOT_FOUND", "MEDIA_GONE", "DISK_FULL"),
		},
		"PUT /instance/{i}/group/update-participants": {
			id: "updateGroupParticipants", summary: "Add, remove, promote or demote members of a group.", about: "204 when all changes succeeded; the result for each member when one failed, or with details=true.", query: []string{"groupJid", details}, in: body[membersRequest](),
			example: `{"groupJid":"` + exampleGroup + `","action":"add","participants":["4915112345678"]}`, out: body[membersAnswer](), also: []openapi.Answer{{Status: http.StatusNoContent}}, codes: aboutGroup(),
		},
		"PUT /instance/{i}/group/subject": {
			id: "setGroupSubject", summary: "Change a group's subject.", query: group, in: body[subjectRequest](),
			example: `{"groupJid":"` + exampleGroup + `","subject":"Winter party"}`, out: body[subjectAnswer](), codes: aboutGroup(),
		},
		"PUT /instance/{i}/group/description": {
			id: "setGroupDescription", summary: "Change or remove a group's description.", query: group, in: body[descriptionRequest](),
			example: `{"groupJid":"` + exampleGroup + `","description":"We meet at eight."}`, out: body[descriptionAnswer](), codes: aboutGroup(),
		},
		"PUT /instance/{i}/group/settings": {
			id: "setGroupSettings", summary: "Change the settings of a group.", query: group, in: body[settingsRequest](),
			example: `{"groupJid":"` + exampleGroup + `","announce":true}`, out: body[settingsAnswer](), codes: aboutGroup(),
		},
		"GET /instance/{i}/group/invitation-code": {
			id: "getGroupInvitation", summary: "Show the invite code of a group.", query: group, out: body[inviteAnswer](), codes: aboutGroup(),
		},
		"PUT /instance/{i}/group/revoke-invitation": {
			id: "revokeGroupInvitation", summary: "Replace the invite code of a group.", about: "204, or with details=true the new code.", query: []string{"groupJid", details}, in: body[groupTarget](),
			example: `{"groupJid":"` + exampleGroup + `"}`, status: http.StatusNoContent, also: []openapi.Answer{{Status: http.StatusOK, Type: body[newInvite]()}}, codes: aboutGroup(),
		},
		"GET /instance/{i}/group/invitation": {
			id: "getInvitedGroup", summary: "Show the group of an invite code, without joining it.", query: []string{"inviteCode"}, out: body[event.GroupUpsert](), codes: aboutPeople(),
		},
		"POST /instance/{i}/group/join": {
			id: "joinGroup", summary: "Join a group by its invite code.", in: body[joinRequest](), example: `{"inviteCode":"AbCdEfGhIjKlMnOpQrStUv"}`, out: body[joinedGroup](), codes: aboutPeople(),
		},
		"GET /instance/{i}/group/join-requests": {
			id: "listJoinRequests", summary: "List the requests to join a group.", query: group, out: body[[]event.JoinRequest](), codes: aboutGroup(),
		},
		"PUT /instance/{i}/group/join-requests": {
			id: "decideJoinRequests", summary: "Approve or reject requests to join a group.", query: group, in: body[decideRequest](),
			example: `{"groupJid":"` + exampleGroup + `","action":"approve","participants":["4915112345678"]}`, out: body[decideAnswer](), codes: aboutGroup(),
		},
		"DELETE /instance/{i}/group/leave": {id: "leaveGroup", summary: "Leave a group.", query: group, status: http.StatusNoContent, codes: aboutGroup()},
	}
}

func channelDescriptions() map[string]description {
	const example = `{"newsletterJid":"120363012345678901@newsletter"}`
	return map[string]description{
		"GET /instance/{i}/newsletters": {id: "listNewsletters", summary: "List the newsletters that the account follows.", out: body[[]event.Channel](), codes: asking(codeInvalidQuery)},
		"GET /instance/{i}/newsletter": {
			id: "getNewsletter", summary: "Show a newsletter, by its JID or its invite code.", query: []string{"newsletterJid", "inviteCode"}, out: body[event.Channel](), codes: aboutPeople(),
		},
		"POST /instance/{i}/newsletter/follow": {
			id: "followNewsletter", summary: "Follow a newsletter.", in: body[channelRequest](), example: example, out: body[followAnswer](), codes: aboutPeople(),
		},
		"POST /instance/{i}/newsletter/unfollow": {
			id: "unfollowNewsletter", summary: "Unfollow a newsletter.", in: body[channelRequest](), example: example, out: body[followAnswer](), codes: aboutPeople(),
		},
		"POST /instance/{i}/newsletter/mute": {
			id: "muteNewsletter", summary: "Mute a newsletter that is followed.", in: body[channelRequest](), example: example, out: body[muteAnswer](), codes: aboutPeople(),
		},
		"POST /instance/{i}/newsletter/unmute": {
			id: "unmuteNewsletter", summary: "Unmute a newsletter.", in: body[channelRequest](), example: example, out: body[muteAnswer](), codes: aboutPeople(),
		},
	}
}

func labelDescriptions() map[string]description {
	return map[string]description{
		"GET /instance/{i}/labels": {id: "listLabels", summary: "List the labels of a business account.", out: body[[]event.Label](), codes: asking(codeInvalidQuery)},
		"POST /instance/{i}/label": {
			id: "createLabel", summary: "Create a label.", once: true, in: body[createLabelRequest](), example: `{"name":"New order","color":3}`,
			status: http.StatusCreated, out: body[event.Label](), codes: sharing(event.SendResultUnknown),
		},
		"PUT /instance/{i}/label": {
			id: "updateLabel", summary: "Change a label.", in: body[editLabelRequest](), example: `{"labelId":"4","name":"Paid"}`, out: body[event.Label](), codes: sharing("LABEL_NOT_FOUND"),
		},
		"DELETE /instance/{i}/label": {id: "deleteLabel", summary: "Delete a label.", query: []string{"labelId"}, out: body[deletedLabel](), codes: sharing("LABEL_NOT_FOUND")},
		"POST /instance/{i}/label/assign": {
			id: "assignLabel", summary: "Put a label on a chat.", in: body[labelChatRequest](), example: `{"labelId":"4","chat":"4915112345678"}`,
			out: body[labelChatAnswer](), codes: aboutPeople("LABEL_NOT_FOUND", "APP_STATE_CONFLICT"),
		},
		"POST /instance/{i}/label/unassign": {
			id: "unassignLabel", summary: "Remove a label from a chat.", in: body[labelChatRequest](), example: `{"labelId":"4","chat":"4915112345678"}`,
			out: body[labelChatAnswer](), codes: aboutPeople("LABEL_NOT_FOUND", "APP_STATE_CONFLICT"),
		},
	}
}

// groupFields are the fields of groups, newsletters and labels.
func groupFields() openapi.Fields {
	chars := openapi.Chars
	people := say("The people: phone numbers or JIDs.", []any{examplePhone}, openapi.Items(1, event.MaxMembers-1))
	results := say("The result for each.", nil)
	all := openapi.Fields{
		"Group.id":                      say("The JID of the group.", exampleGroup),
		"Group.subject":                 say("Its subject.", "Summer party"),
		"Group.participants":            say("Its members.", nil),
		"Participant.id":                say("The JID of the member: the phone JID where it is known, else the LID.", exampleJID),
		"Participant.admin":             say("The role of the member; null for an ordinary member.", string(event.RoleAdmin)),
		"Participant.isAdmin":           say("Whether the member is an admin.", false),
		"Participant.isSuperAdmin":      say("Whether the member created the group.", false),
		"CreatedGroup.notAdded":         say("The people who were not added, and why.", nil),
		"CreatedGroup.descriptionError": say("Why the description could not be set; absent when it was, or none was given.", "refused"),

		"CreateGroupRequest.participants": people,
		"CreateGroupRequest.description":  say("The group's description.", "We meet at eight.", chars(0, event.MaxDescription)),
		"MembersRequest.participants":     people,
		"MembersRequest.action":           say("The change.", string(event.ParticipantAdd)),
		"MembersAnswer.action":            say("The change.", string(event.ParticipantAdd)),
		"MembersAnswer.participants":      results,
		"DecideRequest.participants":      people,
		"DecideRequest.action":            say("The decision.", string(approve), openapi.OneOf(approve, reject)),
		"DecideAnswer.action":             say("The decision.", string(approve), openapi.OneOf(approve, reject)),
		"DecideAnswer.participants":       results,
		"MemberResult.status":             say("200 on success, else WhatsApp's code for the refusal.", event.MemberChanged),
		"MemberResult.invitation":         say("An invitation to send to a person who cannot be added directly.", nil),
		"Invitation.code":                 say("The code of the invitation.", "AbCdEfGh"),
		"DescriptionRequest.description":  say("The group's description; empty to remove it.", "We meet at eight.", chars(0, event.MaxDescription)),
		"DescriptionAnswer.description":   say("The group's description now.", "We meet at eight."),
		"PictureRequest.image":            say("The http or https URL of the picture; empty to remove the picture.", "https://example.org/group.jpg", chars(0, event.MaxURL)),
		"GroupWithPicture.pictureId":      say("WhatsApp's id of the new picture; empty when it was removed.", "1709294400"),
		"InviteAnswer.invitation":         say("The link of the invitation.", event.InviteLinkPrefix+"AbCdEfGhIjKlMnOpQrStUv", openapi.Format("uri")),
		"NewInvite.invitation":            say("The link of the new invitation.", event.InviteLinkPrefix+"AbCdEfGhIjKlMnOpQrStUv", openapi.Format("uri")),
		"JoinedGroup.joined":              say("Whether the account is a member now; false while admins decide.", true),
		"JoinRequest.requestedAt":         say("When the person asked.", exampleTime),

		"Newsletter.jid":          say("The JID of the newsletter.", "120363012345678901@newsletter"),
		"Newsletter.name":         say("Its name.", "News of the engine"),
		"Newsletter.description":  say("Its description.", "Once a week"),
		"Newsletter.subscribers":  say("The number of followers.", 1200, openapi.AtLeast(0)),
		"Newsletter.verification": say("Whether WhatsApp verified it.", "verified", openapi.OneOf("verified", "unverified")),
		"Newsletter.state":        say("The state of the newsletter.", "active", openapi.OneOf("active", "suspended", "geosuspended")),
		"Newsletter.role":         say("The role of the account; absent when the newsletter was found by its invitation.", "subscriber", openapi.OneOf("owner", "admin", "subscriber", "guest")),
		"FollowAnswer.following":  say("Whether the account follows it now.", true),

		"Label.id":                say("The label's id: digits.", "4"),
		"Label.name":              say("The label's name.", "Paid"),
		"CreateLabelRequest.name": say("The label's name.", "Paid", chars(1, event.MaxLabelName)),
		"LabelChange.name":        say("The label's name.", "Paid", chars(1, event.MaxLabelName)),
		"DeletedLabel.deleted":    say("Always true.", true),
		"LabelChatAnswer.labeled": say("Whether the chat has the label now.", true),
	}
	for name, f := range map[string]openapi.Field{
		"addressingMode":       say("How its members address each other: by pn or lid.", "lid"),
		"authorPn":             say("The phone JID of who did it, where it is known.", exampleJID),
		"authorUsername":       say("The username of who did it.", "ada"),
		"creation":             say("When it was created, in Unix seconds.", 1772366400),
		"desc":                 say("Its description; empty when it was removed.", "We meet at eight."),
		"descId":               say("WhatsApp's id of the description.", "3EB0"),
		"descOwner":            say("The JID of who wrote the description.", exampleJID),
		"descOwnerPn":          say("The phone JID of who wrote the description.", exampleJID),
		"descOwnerUsername":    say("The username of who wrote the description.", "ada"),
		"descTime":             say("When the description was written, in Unix seconds.", 1772366400),
		"isCommunity":          say("Whether it is a community.", false),
		"isCommunityAnnounce":  say("Whether it is the announcement group of a community.", false),
		"linkedParent":         say("The JID of the community that it belongs to.", exampleGroup),
		"notify":               say("The name that its creator chose.", "Ada"),
		"owner":                say("The JID of the creator.", exampleJID),
		"ownerCountryCode":     say("The country of the creator.", "DE"),
		"ownerPn":              say("The phone JID of the creator.", exampleJID),
		"ownerUsername":        say("The username of the creator.", "ada"),
		"size":                 say("How many members it has.", 12, openapi.AtLeast(0)),
		"subjectOwner":         say("The JID of who wrote the subject.", exampleJID),
		"subjectOwnerPn":       say("The phone JID of who wrote the subject.", exampleJID),
		"subjectOwnerUsername": say("The username of who wrote the subject.", "ada"),
		"subjectTime":          say("When the subject was written, in Unix seconds.", 1772366400),
	} {
		all["GroupMetadata."+name] = f
	}
	return all
}
