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
			id: "createGroup", summary: "Make a group.", once: true, in: body[createGroupRequest](),
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
			id: "updateGroupParticipants", summary: "Add, remove, promote or demote members of a group.", about: "204 when all was done; what became of each when something failed, and always with details=true.", query: []string{"groupJid", details}, in: body[membersRequest](),
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
			id: "setGroupSettings", summary: "Change what members of a group may do, and when its messages disappear.", query: group, in: body[settingsRequest](),
			example: `{"groupJid":"` + exampleGroup + `","announce":true}`, out: body[settingsAnswer](), codes: aboutGroup(),
		},
		"GET /instance/{i}/group/invitation-code": {
			id: "getGroupInvitation", summary: "Show the invite code of a group.", query: group, out: body[inviteAnswer](), codes: aboutGroup(),
		},
		"PUT /instance/{i}/group/revoke-invitation": {
			id: "revokeGroupInvitation", summary: "Replace the invite code of a group by a new one.", about: "204, or with details=true the new one.", query: []string{"groupJid", details}, in: body[groupTarget](),
			example: `{"groupJid":"` + exampleGroup + `"}`, status: http.StatusNoContent, also: []openapi.Answer{{Status: http.StatusOK, Type: body[newInvite]()}}, codes: aboutGroup(),
		},
		"GET /instance/{i}/group/invitation": {
			id: "getInvitedGroup", summary: "Show the group of an invite code, without joining it.", query: []string{"inviteCode"}, out: body[event.GroupUpsert](), codes: aboutPeople(),
		},
		"POST /instance/{i}/group/join": {
			id: "joinGroup", summary: "Join a group by its invite code.", in: body[joinRequest](), example: `{"inviteCode":"AbCdEfGhIjKlMnOpQrStUv"}`, out: body[joinedGroup](), codes: aboutPeople(),
		},
		"GET /instance/{i}/group/join-requests": {
			id: "listJoinRequests", summary: "List who asked to join a group.", query: group, out: body[[]event.JoinRequest](), codes: aboutGroup(),
		},
		"PUT /instance/{i}/group/join-requests": {
			id: "decideJoinRequests", summary: "Let people into a group who asked to join, or turn them away.", query: group, in: body[decideRequest](),
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
			id: "createLabel", summary: "Make a label.", once: true, in: body[createLabelRequest](), example: `{"name":"New order","color":3}`,
			status: http.StatusCreated, out: body[event.Label](), codes: asking(event.SendResultUnknown),
		},
		"PUT /instance/{i}/label": {
			id: "updateLabel", summary: "Change a label.", in: body[editLabelRequest](), example: `{"labelId":"4","name":"Paid"}`, out: body[event.Label](), codes: asking("LABEL_NOT_FOUND"),
		},
		"DELETE /instance/{i}/label": {id: "deleteLabel", summary: "Delete a label.", query: []string{"labelId"}, out: body[deletedLabel](), codes: asking("LABEL_NOT_FOUND")},
		"POST /instance/{i}/label/assign": {
			id: "assignLabel", summary: "Put a label on a chat.", in: body[labelChatRequest](), example: `{"labelId":"4","chat":"4915112345678"}`,
			out: body[labelChatAnswer](), codes: aboutPeople("LABEL_NOT_FOUND"),
		},
		"POST /instance/{i}/label/unassign": {
			id: "unassignLabel", summary: "Take a label off a chat.", in: body[labelChatRequest](), example: `{"labelId":"4","chat":"4915112345678"}`,
			out: body[labelChatAnswer](), codes: aboutPeople("LABEL_NOT_FOUND"),
		},
	}
}
