package httpapi

import (
	"net/http"

	"postern/event"
)

func groupDescriptions() map[string]description {
	group := []string{"groupJid"}
	return map[string]description{
		"POST /instance/{i}/group":                    {summary: "Make a group.", once: true, in: body[createGroupRequest](), status: http.StatusCreated, out: body[event.CreatedGroup]()},
		"GET /instance/{i}/group":                     {summary: "Show a group.", query: group, out: body[event.GroupUpsert]()},
		"GET /instance/{i}/groups":                    {summary: "List the groups that the account is in.", out: body[[]event.GroupUpsert]()},
		"PUT /instance/{i}/group/update-picture":      {summary: "Change or remove a group's picture: from a URL, an upload, or as a multipart body.", query: group, in: body[pictureRequest](), form: group, out: body[pictureAnswer]()},
		"PUT /instance/{i}/group/update-participants": {summary: "Add, remove, promote or demote members of a group.", query: group, in: body[membersRequest](), out: body[membersAnswer]()},
		"PUT /instance/{i}/group/subject":             {summary: "Change a group's subject.", query: group, in: body[subjectRequest](), out: body[subjectAnswer]()},
		"PUT /instance/{i}/group/description":         {summary: "Change or remove a group's description.", query: group, in: body[descriptionRequest](), out: body[descriptionAnswer]()},
		"PUT /instance/{i}/group/settings":            {summary: "Change what members of a group may do, and when its messages disappear.", query: group, in: body[settingsRequest](), out: body[settingsAnswer]()},
		"GET /instance/{i}/group/invitation-code":     {summary: "Show the invite code of a group.", query: group, out: body[inviteAnswer]()},
		"PUT /instance/{i}/group/revoke-invitation":   {summary: "Replace the invite code of a group by a new one.", query: group, in: body[groupTarget](), out: body[inviteAnswer]()},
		"GET /instance/{i}/group/invitation":          {summary: "Show the group of an invite code, without joining it.", query: []string{"inviteCode"}, out: body[event.GroupUpsert]()},
		"POST /instance/{i}/group/join":               {summary: "Join a group by its invite code.", in: body[joinRequest](), out: body[joinedGroup]()},
		"GET /instance/{i}/group/join-requests":       {summary: "List who asked to join a group.", query: group, out: body[[]event.JoinRequest]()},
		"PUT /instance/{i}/group/join-requests":       {summary: "Let people into a group who asked to join, or turn them away.", query: group, in: body[decideRequest](), out: body[decideAnswer]()},
		"DELETE /instance/{i}/group/leave":            {summary: "Leave a group.", query: group, out: body[leftGroup]()},

		"GET /instance/{i}/newsletters":          {summary: "List the newsletters that the account follows.", out: body[[]event.Channel]()},
		"GET /instance/{i}/newsletter":           {summary: "Show a newsletter, by its JID or its invite code.", query: []string{"newsletterJid", "inviteCode"}, out: body[event.Channel]()},
		"POST /instance/{i}/newsletter/follow":   {summary: "Follow a newsletter.", in: body[channelRequest](), out: body[followAnswer]()},
		"POST /instance/{i}/newsletter/unfollow": {summary: "Unfollow a newsletter.", in: body[channelRequest](), out: body[followAnswer]()},
		"POST /instance/{i}/newsletter/mute":     {summary: "Mute a newsletter that is followed.", in: body[channelRequest](), out: body[muteAnswer]()},
		"POST /instance/{i}/newsletter/unmute":   {summary: "Unmute a newsletter.", in: body[channelRequest](), out: body[muteAnswer]()},

		"GET /instance/{i}/labels":          {summary: "List the labels of a business account.", out: body[[]event.Label]()},
		"POST /instance/{i}/label":          {summary: "Make a label.", once: true, in: body[createLabelRequest](), status: http.StatusCreated, out: body[event.Label]()},
		"PUT /instance/{i}/label":           {summary: "Change a label.", in: body[editLabelRequest](), out: body[event.Label]()},
		"DELETE /instance/{i}/label":        {summary: "Delete a label.", query: []string{"labelId"}, out: body[deletedLabel]()},
		"POST /instance/{i}/label/assign":   {summary: "Put a label on a chat.", in: body[labelChatRequest](), out: body[labelChatAnswer]()},
		"POST /instance/{i}/label/unassign": {summary: "Take a label off a chat.", in: body[labelChatRequest](), out: body[labelChatAnswer]()},
	}
}
