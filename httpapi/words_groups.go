package httpapi

import (
	"postern/event"
	"postern/httpapi/openapi"
)

// groupFields are those of groups, newsletters and labels.
func groupFields() openapi.Fields {
	chars := openapi.Chars
	people := say("The people: phone numbers or JIDs.", []any{examplePhone}, openapi.Items(1, event.MaxMembers-1))
	results := say("What became of each.", nil)
	all := openapi.Fields{
		"Group.id":                      say("The JID of the group.", exampleGroup),
		"Group.subject":                 say("Its subject.", "Summer party"),
		"Group.participants":            say("Its members.", nil),
		"Participant.id":                say("The JID of the member: of the phone where it is known, else the LID.", exampleJID),
		"Participant.admin":             say("What rights the member has; null for none.", string(event.RoleAdmin)),
		"Participant.isAdmin":           say("Whether the member is an admin.", false),
		"Participant.isSuperAdmin":      say("Whether the member made the group.", false),
		"CreatedGroup.notAdded":         say("Who is not in the group, and why.", nil),
		"CreatedGroup.descriptionError": say("Why the group has no description; absent when it has, or none was given.", "refused"),

		"CreateGroupRequest.participants": people,
		"CreateGroupRequest.description":  say("The group's description.", "We meet at eight.", chars(0, event.MaxDescription)),
		"MembersRequest.participants":     people,
		"MembersRequest.action":           say("What becomes of them.", string(event.ParticipantAdd)),
		"MembersAnswer.action":            say("What became of them.", string(event.ParticipantAdd)),
		"MembersAnswer.participants":      results,
		"DecideRequest.participants":      people,
		"DecideRequest.action":            say("Whether they are let in.", string(approve), openapi.OneOf(approve, reject)),
		"DecideAnswer.action":             say("Whether they were let in.", string(approve), openapi.OneOf(approve, reject)),
		"DecideAnswer.participants":       results,
		"MemberResult.status":             say("200 when it was done, else WhatsApp's code for the refusal.", event.MemberChanged),
		"MemberResult.invitation":         say("What the account may send to a person who can only be invited.", nil),
		"Invitation.code":                 say("The code of the invitation.", "AbCdEfGh"),
		"DescriptionRequest.description":  say("The group's description; empty to remove it.", "We meet at eight.", chars(0, event.MaxDescription)),
		"DescriptionAnswer.description":   say("The group's description now.", "We meet at eight."),
		"PictureRequest.image":            say("Where the picture lies: an http or https URL; empty to remove the picture.", "https://example.org/group.jpg", chars(0, event.MaxURL)),
		"GroupWithPicture.pictureId":      say("WhatsApp's id of the new picture; empty when it was removed.", "1709294400"),
		"InviteAnswer.invitation":         say("The link of the invitation.", event.InviteLinkPrefix+"AbCdEfGhIjKlMnOpQrStUv", openapi.Format("uri")),
		"NewInvite.invitation":            say("The link of the new invitation.", event.InviteLinkPrefix+"AbCdEfGhIjKlMnOpQrStUv", openapi.Format("uri")),
		"JoinedGroup.joined":              say("Whether the account is a member now; false while admins decide.", true),
		"JoinRequest.requestedAt":         say("When the person asked.", exampleTime),

		"Newsletter.jid":          say("The JID of the newsletter.", "120363012345678901@newsletter"),
		"Newsletter.name":         say("Its name.", "News of the engine"),
		"Newsletter.description":  say("Its description.", "Once a week"),
		"Newsletter.subscribers":  say("How many follow it.", 1200, openapi.AtLeast(0)),
		"Newsletter.verification": say("Whether WhatsApp verified it.", "verified", openapi.OneOf("verified", "unverified")),
		"Newsletter.state":        say("Whether it is open.", "active", openapi.OneOf("active", "suspended", "geosuspended")),
		"Newsletter.role":         say("What the account is there; absent when the newsletter was found by its invitation.", "subscriber", openapi.OneOf("owner", "admin", "subscriber", "guest")),
		"FollowAnswer.following":  say("Whether the account follows it now.", true),

		"Label.id":                say("The label's id: digits.", "4"),
		"Label.name":              say("The label's name.", "Paid"),
		"CreateLabelRequest.name": say("The label's name.", "Paid", chars(1, event.MaxLabelName)),
		"LabelChange.name":        say("The label's name.", "Paid", chars(1, event.MaxLabelName)),
		"DeletedLabel.deleted":    say("That it is gone.", true),
		"LabelChatAnswer.labeled": say("Whether the chat has the label now.", true),
	}
	for name, f := range map[string]openapi.Field{
		"addressingMode":       say("How its members address each other: by pn or lid.", "lid"),
		"authorPn":             say("The phone JID of who did it, where it is known.", exampleJID),
		"authorUsername":       say("The username of who did it.", "ada"),
		"creation":             say("When it was made, in Unix seconds.", 1772366400),
		"desc":                 say("Its description; empty when it was removed.", "We meet at eight."),
		"descId":               say("WhatsApp's id of the description.", "3EB0"),
		"descOwner":            say("The JID of who wrote the description.", exampleJID),
		"descOwnerPn":          say("The phone JID of who wrote the description.", exampleJID),
		"descOwnerUsername":    say("The username of who wrote the description.", "ada"),
		"descTime":             say("When the description was written, in Unix seconds.", 1772366400),
		"isCommunity":          say("Whether it is a community.", false),
		"isCommunityAnnounce":  say("Whether it is the announcement group of a community.", false),
		"linkedParent":         say("The JID of the community that it belongs to.", exampleGroup),
		"notify":               say("The name that its maker chose.", "Ada"),
		"owner":                say("The JID of who made it.", exampleJID),
		"ownerCountryCode":     say("The country of who made it.", "DE"),
		"ownerPn":              say("The phone JID of who made it.", exampleJID),
		"ownerUsername":        say("The username of who made it.", "ada"),
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
