package chats

import (
	"net/http"
	"slices"

	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
)

// Routes returns the paths of the package, with their handlers and what the documents say about them.
func (a *API) Routes() []rest.Route {
	return slices.Concat(a.chatRoutes(), a.storedRoutes(), a.groupRoutes(), a.channelRoutes(), a.labelRoutes(), a.profileRoutes(), a.erasureRoutes())
}

func (a *API) chatRoutes() []rest.Route {
	read := rest.Route{
		Method: "POST", Path: "/instance/{i}/chat/read-message", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.readMessages,
		ID: "readMessages", Summary: "Mark messages as read.", In: rest.TypeOf[readRequest](),
		Example: `{"readMessages":[{"remoteJid":"4915112345678@s.whatsapp.net","id":"3EB0C767D097B7C7C030"}]}`,
		Out:     rest.TypeOf[readAnswer](), Codes: rest.AboutPeople("MESSAGE_NOT_FOUND", "INVALID_MESSAGE"),
	}
	archive := rest.Route{
		Method: "POST", Path: "/instance/{i}/chat/archive", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: quietOperation(a, (*archiveRequest).check, archiveChat),
		ID: "archiveChat", Summary: "Archive or unarchive a chat.", In: rest.TypeOf[archiveRequest](),
		Example: `{"chat":"4915112345678","archive":true}`, Status: http.StatusNoContent, Codes: rest.AboutPeople("INVALID_MESSAGE", "APP_STATE_CONFLICT"),
	}
	also := func(r rest.Route, method, id string) rest.Route {
		r.Method, r.ID = method, id
		return r
	}
	return []rest.Route{
		{
			Method: "POST", Path: "/instance/{i}/chat/is-account", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: chatOperation(a, (*numbersRequest).check, lookUpNumbers),
			ID: "checkNumbers", Summary: "Check which numbers have an account.", In: rest.TypeOf[numbersRequest](),
			Example: `{"numbers":["4915112345678"]}`, Out: rest.TypeOf[[]event.Registration](), Codes: rest.AboutPeople(),
		},
		{
			Method: "POST", Path: "/instance/{i}/chat/user-info", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: chatOperation(a, (*userInfoRequest).check, showUserInfo),
			ID: "getUserInfo", Summary: "Show what accounts show to everybody.", In: rest.TypeOf[userInfoRequest](),
			Example: `{"numbers":["4915112345678"]}`, Out: rest.TypeOf[[]event.UserInfo](), Codes: rest.AboutPeople(),
		},
		read,
		also(read, "PUT", "putReadMessages"),
		also(read, "PATCH", "patchReadMessages"),
		archive,
		also(archive, "PUT", "putArchivedChat"),
		{
			Method: "POST", Path: "/instance/{i}/chat/pin", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: chatOperation(a, (*pinRequest).check, pinChat),
			ID: "pinChat", Summary: "Pin or unpin a chat.", In: rest.TypeOf[pinRequest](), Example: `{"chat":"4915112345678","pinned":true}`, Out: rest.TypeOf[chatState](), Codes: rest.AboutPeople("APP_STATE_CONFLICT"),
		},
		{
			Method: "POST", Path: "/instance/{i}/chat/mute", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: chatOperation(a, (*MuteRequest).check, muteChat),
			ID: "muteChat", Summary: "Mute or unmute a chat.", In: rest.TypeOf[MuteRequest](), Example: `{"chat":"4915112345678","muted":true}`, Out: rest.TypeOf[chatState](), Codes: rest.AboutPeople("APP_STATE_CONFLICT"),
		},
		{
			Method: "POST", Path: "/instance/{i}/chat/star", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.starMessage,
			ID: "starMessage", Summary: "Star or unstar a stored message.", In: rest.TypeOf[starRequest](),
			Example: `{"messageId":42,"starred":true}`, Out: rest.TypeOf[starAnswer](), Codes: rest.AboutPeople("APP_STATE_CONFLICT", "MESSAGE_NOT_FOUND", "INVALID_MESSAGE"),
		},
		{
			Method: "POST", Path: "/instance/{i}/chat/unread", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: quietOperation(a, (*unreadRequest).check, markUnread),
			ID: "markUnread", Summary: "Mark a chat as unread or as read.", In: rest.TypeOf[unreadRequest](), Example: `{"chat":"4915112345678","unread":true}`,
			Status: http.StatusNoContent, Codes: rest.AboutPeople("APP_STATE_CONFLICT"),
		},
		{
			Method: "DELETE", Path: "/instance/{i}/chat/delete-for-me", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.deleteForMe,
			ID: "deleteForMe", Summary: "Delete a stored message on the account's devices, and here.", Query: []string{"messageId"}, Status: http.StatusNoContent,
			Codes: rest.AboutPeople("APP_STATE_CONFLICT", "MESSAGE_NOT_FOUND"),
		},
		{
			Method: "DELETE", Path: "/instance/{i}/chats/{jid}", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.deleteChat,
			ID: "deleteChat", Summary: "Delete a chat on the account's devices.", About: "With stored=true its stored messages are removed, too.", Query: []string{"stored"},
			Status: http.StatusNoContent, Codes: rest.AboutPeople("APP_STATE_CONFLICT"),
		},
		{
			Method: "POST", Path: "/instance/{i}/chat/block", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: chatOperation(a, (*blockRequest).check, blockPerson),
			ID: "blockPerson", Summary: "Block or unblock a person.", In: rest.TypeOf[blockRequest](), Example: `{"number":"4915112345678","blocked":true}`, Out: rest.TypeOf[blockedPeople](), Codes: rest.AboutPeople(),
		},
		{
			Method: "GET", Path: "/instance/{i}/chat/blocked", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.listBlocked,
			ID: "listBlocked", Summary: "List the blocked people.", Out: rest.TypeOf[blockedPeople](), Codes: rest.Asking(),
		},
		{
			Method: "POST", Path: "/instance/{i}/chat/profile-picture", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: chatOperation(a, (*profilePictureRequest).check, showPicture),
			ID: "getProfilePicture", Summary: "Get the URL of a profile picture.", In: rest.TypeOf[profilePictureRequest](), Example: `{"number":"4915112345678"}`,
			Out: rest.TypeOf[profilePictureAnswer](), Codes: rest.AboutPeople("ONE_RECIPIENT"),
		},
		{
			Method: "POST", Path: "/instance/{i}/chat/history", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.askHistory,
			ID: "askForHistory", Summary: "Ask the account's phone for older messages of a chat.",
			About: "What the phone sends is stored with `metadata.source` \"history\" and reported by history.sync only. A phone that is switched off answers later.",
			In:    rest.TypeOf[historyRequest](), Example: `{"chat":"4915112345678","count":50}`, Status: http.StatusAccepted, Out: rest.TypeOf[historyAnswer](),
			Codes: rest.AboutPeople("MESSAGE_NOT_FOUND", "NO_ANCHOR"),
		},
		{
			Method: "POST", Path: "/instance/{i}/chat/reject-call", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: quietOperation(a, (*rejectRequest).check, rejectCall),
			ID: "rejectCall", Summary: "Reject an incoming call.", In: rest.TypeOf[rejectRequest](), Example: `{"callId":"6F1C1A520D6B4C56","callFrom":"4915112345678"}`,
			Status: http.StatusNoContent, Codes: rest.AboutPeople(),
		},
		{
			Method: "POST", Path: "/instance/{i}/chat/presence", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: chatOperation(a, (*presenceRequest).check, showPresence),
			ID: "setPresence", Summary: "Show a presence, or subscribe to another's.", In: rest.TypeOf[presenceRequest](), Example: `{"presence":"composing","chat":"4915112345678"}`,
			Out: rest.TypeOf[presenceAnswer](), Codes: rest.AboutPeople(),
		},
	}
}

func (a *API) profileRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "GET", Path: "/instance/{i}/profile", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.showProfile,
			ID: "getProfile", Summary: "Show what the account shows of itself.", Out: rest.TypeOf[event.Profile](), Codes: rest.Asking(),
		},
		{
			Method: "PUT", Path: "/instance/{i}/profile", Auth: rest.InstanceBearer, Right: rest.ScopeManage, Handle: rest.Audited("profile.change", a.changeProfile),
			ID: "changeProfile", Summary: "Change what the account shows of itself.", About: "All changes are checked first; each is then a step of its own, whose result the answer has.",
			In: rest.TypeOf[profileRequest](), Example: `{"name":"Shop","about":"Open until six"}`, Out: rest.TypeOf[ChangedProfile](),
			Codes: rest.Asking("INVALID_ARGUMENT", "INVALID_MESSAGE", "INVALID_MEDIA", "MEDIA_TYPE_UNSUPPORTED", "APP_STATE_CONFLICT", "DISK_FULL"),
		},
		{
			Method: "GET", Path: "/instance/{i}/privacy", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.showPrivacy,
			ID: "getPrivacy", Summary: "Show who sees what of the account.", Out: rest.TypeOf[event.Privacy](), Codes: rest.Asking(),
		},
		{
			Method: "PUT", Path: "/instance/{i}/privacy", Auth: rest.InstanceBearer, Right: rest.ScopeManage, Handle: rest.Audited("privacy.change", chatOperation(a, (*event.Privacy).Check, changePrivacy)),
			ID: "changePrivacy", Summary: "Set who sees what of the account.", In: rest.TypeOf[event.Privacy](), Example: `{"lastSeen":"contacts"}`, Out: rest.TypeOf[event.Privacy](),
			Codes: rest.Asking("INVALID_ARGUMENT"),
		},
	}
}

func (a *API) erasureRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "DELETE", Path: "/instance/{i}/people/{jid}", Auth: rest.InstanceBearer, Right: rest.ScopeManage, Handle: rest.Audited("people.erase", a.erasePerson),
			ID: "erasePerson", Summary: "Remove what the instance has stored about a person.",
			About:  "The direct chat, what the person wrote in groups, contact, kept files, and bodies of deliveries that name the person, under both addresses. Batches, opt-outs, the audit log and backups stay.",
			Status: http.StatusAccepted, Out: rest.TypeOf[erasureAnswer](), Codes: rest.Codes{"INVALID_RECIPIENT", "OWN_ACCOUNT", rest.CodeLimitReached},
		},
		{
			Method: "GET", Path: "/instance/{i}/erasures/{erasureId}", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.showErasure,
			ID: "getErasure", Summary: "Show how far the removal of a person's data is.", Out: rest.TypeOf[erasureView](), Codes: rest.Codes{"ERASURE_NOT_FOUND"},
		},
	}
}

func (a *API) storedRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "POST", Path: "/instance/{i}/db/messages", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.listMessages,
			ID: "listMessages", Summary: "List stored messages with their status updates, newest first.",
			About:   "A call scans 50 000 messages, or 5000 when the filter needs them decoded: a page may have fewer records than its limit, even none, and still a next page.",
			In:      rest.TypeOf[listMessagesRequest](),
			Example: `{"filter":{"keyRemoteJid":"4915112345678@s.whatsapp.net"},"limit":50}`, Out: rest.TypeOf[MessageList](), Codes: rest.Codes{rest.CodeNoCursor, rest.CodeInvalidQuery},
		},
		{
			Method: "POST", Path: "/instance/{i}/db/messages/pages", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.findMessages,
			ID: "findMessages", Summary: "List stored messages in numbered pages.", In: rest.TypeOf[findMessagesRequest](),
			Example: `{"where":{"keyFromMe":true},"page":1,"offset":50}`, Out: rest.TypeOf[FoundList](), Codes: rest.Codes{rest.CodeInvalidQuery},
		},
		{
			Method: "GET", Path: "/instance/{i}/contacts", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.listContacts,
			ID: "listContacts", Summary: "List the contacts.",
			About: "With a name, a call scans 5000 contacts: a page may have fewer records than its limit, even none, and still a next page.",
			Query: []string{"limit", "nextCursor", "jid", "name"}, Out: rest.TypeOf[contactList](), Codes: rest.Codes{rest.CodeNoCursor},
		},
		{
			Method: "GET", Path: "/instance/{i}/chats", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.listChats,
			ID: "listChats", Summary: "List the chats with stored messages, latest first.",
			About: "With more than 1500 chats, a call scans the 4000 next messages for chats: a page may have fewer records than its limit, even none, and still a next page.",
			Query: []string{"limit", "nextCursor"}, Out: rest.TypeOf[chatList](), Codes: rest.Codes{rest.CodeNoCursor},
		},
		{
			Method: "GET", Path: "/instance/{i}/messages/search", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.searchMessages,
			ID: "searchMessages", Summary: "Search the text of all chats, newest messages first.",
			About: "Case is ignored. A call scans at most 20 000 messages and 64 MiB of content: a page may have fewer records than its limit, even none, and still a next page, whose cursor is nextCursor.",
			Query: []string{"query", "from", "to", "type", "fromMe", "chat", "limit", "cursor"}, Out: rest.TypeOf[foundMessages](), Codes: rest.Codes{rest.CodeNoCursor, rest.CodeInvalidQuery, "INVALID_RECIPIENT"},
		},
		{
			Method: "GET", Path: "/instance/{i}/chats/{jid}/messages", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.searchChat,
			ID: "searchChat", Summary: "Search the text of a chat, newest messages first.",
			About: "Case is ignored. A call scans at most 20 000 messages and 64 MiB of content: a page may have fewer records than its limit, even none, and still a next page.",
			Query: rest.Cursors("query"), Out: rest.TypeOf[chatMessages](), Codes: rest.Codes{rest.CodeNoCursor, "INVALID_RECIPIENT"},
		},
	}
}

func (a *API) groupRoutes() []rest.Route {
	group := []string{"groupJid"}
	return []rest.Route{
		{
			Method: "POST", Path: "/instance/{i}/group", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.createGroup,
			ID: "createGroup", Summary: "Create a group.", Once: true, In: rest.TypeOf[createGroupRequest](),
			Example: `{"subject":"Summer party","participants":["4915112345678"]}`, Status: http.StatusCreated, Out: rest.TypeOf[event.CreatedGroup](),
			Codes: rest.AboutPeople(event.SendResultUnknown),
		},
		{
			Method: "GET", Path: "/instance/{i}/group", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.showGroup,
			ID: "getGroup", Summary: "Show a group.", Query: group, Out: rest.TypeOf[event.GroupUpsert](), Codes: rest.AboutGroup(),
		},
		{
			Method: "GET", Path: "/instance/{i}/groups", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.listGroups,
			ID: "listGroups", Summary: "List the groups that the account is in.", Out: rest.TypeOf[[]event.GroupUpsert](), Codes: rest.Asking(rest.CodeInvalidQuery),
		},
		{
			Method: "PUT", Path: "/instance/{i}/group/update-picture", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.changePicture,
			ID: "setGroupPicture", Summary: "Change or remove a group's picture: from a URL, an upload, or as a multipart body.", Query: group, In: rest.TypeOf[pictureRequest](),
			Example: `{"groupJid":"` + rest.ExampleGroup + `","image":"https://example.org/group.jpg"}`, Form: group, Out: rest.TypeOf[PicturedGroup](),
			Codes: rest.AboutGroup("INVALID_MEDIA", "INVALID_MESSAGE", "UPLOAD_NOT_FOUND", "MEDIA_GONE", "DISK_FULL"),
		},
		{
			Method: "PUT", Path: "/instance/{i}/group/update-participants", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.changeMembers,
			ID: "updateGroupParticipants", Summary: "Add, remove, promote or demote members of a group.", About: "204 when all changes succeeded; the result for each member when one failed, or with details=true.", Query: []string{"groupJid", details}, In: rest.TypeOf[membersRequest](),
			Example: `{"groupJid":"` + rest.ExampleGroup + `","action":"add","participants":["4915112345678"]}`, Out: rest.TypeOf[membersAnswer](), Also: []openapi.Answer{{Status: http.StatusNoContent}}, Codes: rest.AboutGroup(),
		},
		{
			Method: "PUT", Path: "/instance/{i}/group/subject", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.changeSubject,
			ID: "setGroupSubject", Summary: "Change a group's subject.", Query: group, In: rest.TypeOf[subjectRequest](),
			Example: `{"groupJid":"` + rest.ExampleGroup + `","subject":"Winter party"}`, Out: rest.TypeOf[subjectAnswer](), Codes: rest.AboutGroup(),
		},
		{
			Method: "PUT", Path: "/instance/{i}/group/description", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.changeDescription,
			ID: "setGroupDescription", Summary: "Change or remove a group's description.", Query: group, In: rest.TypeOf[descriptionRequest](),
			Example: `{"groupJid":"` + rest.ExampleGroup + `","description":"We meet at eight."}`, Out: rest.TypeOf[descriptionAnswer](), Codes: rest.AboutGroup(),
		},
		{
			Method: "PUT", Path: "/instance/{i}/group/settings", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.changeSettings,
			ID: "setGroupSettings", Summary: "Change the settings of a group.", Query: group, In: rest.TypeOf[settingsRequest](),
			Example: `{"groupJid":"` + rest.ExampleGroup + `","announce":true}`, Out: rest.TypeOf[settingsAnswer](), Codes: rest.AboutGroup(),
		},
		{
			Method: "GET", Path: "/instance/{i}/group/invitation-code", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.showInvite,
			ID: "getGroupInvitation", Summary: "Show the invite code of a group.", Query: group, Out: rest.TypeOf[inviteAnswer](), Codes: rest.AboutGroup(),
		},
		{
			Method: "PUT", Path: "/instance/{i}/group/revoke-invitation", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.revokeInvite,
			ID: "revokeGroupInvitation", Summary: "Replace the invite code of a group.", About: "204, or with details=true the new code.", Query: []string{"groupJid", details}, In: rest.TypeOf[groupTarget](),
			Example: `{"groupJid":"` + rest.ExampleGroup + `"}`, Status: http.StatusNoContent, Also: []openapi.Answer{{Status: http.StatusOK, Type: rest.TypeOf[newInvite]()}}, Codes: rest.AboutGroup(),
		},
		{
			Method: "GET", Path: "/instance/{i}/group/invitation", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.showInvited,
			ID: "getInvitedGroup", Summary: "Show the group of an invite code, without joining it.", Query: []string{"inviteCode"}, Out: rest.TypeOf[event.GroupUpsert](), Codes: rest.AboutPeople(),
		},
		{
			Method: "POST", Path: "/instance/{i}/group/join", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.joinGroup,
			ID: "joinGroup", Summary: "Join a group by its invite code.", In: rest.TypeOf[JoinRequest](), Example: `{"inviteCode":"AbCdEfGhIjKlMnOpQrStUv"}`, Out: rest.TypeOf[joinedGroup](), Codes: rest.AboutPeople(),
		},
		{
			Method: "GET", Path: "/instance/{i}/group/join-requests", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.listJoinRequests,
			ID: "listJoinRequests", Summary: "List the requests to join a group.", Query: group, Out: rest.TypeOf[[]event.JoinRequest](), Codes: rest.AboutGroup(),
		},
		{
			Method: "PUT", Path: "/instance/{i}/group/join-requests", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.decideJoinRequests,
			ID: "decideJoinRequests", Summary: "Approve or reject requests to join a group.", Query: group, In: rest.TypeOf[decideRequest](),
			Example: `{"groupJid":"` + rest.ExampleGroup + `","action":"approve","participants":["4915112345678"]}`, Out: rest.TypeOf[decideAnswer](), Codes: rest.AboutGroup(),
		},
		{
			Method: "DELETE", Path: "/instance/{i}/group/leave", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.leaveGroup,
			ID: "leaveGroup", Summary: "Leave a group.", Query: group, Status: http.StatusNoContent, Codes: rest.AboutGroup(),
		},
	}
}

func (a *API) channelRoutes() []rest.Route {
	const example = `{"newsletterJid":"120363012345678901@newsletter"}`
	return []rest.Route{
		{
			Method: "GET", Path: "/instance/{i}/newsletters", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.listChannels,
			ID: "listNewsletters", Summary: "List the newsletters that the account follows.", Out: rest.TypeOf[[]event.Channel](), Codes: rest.Asking(rest.CodeInvalidQuery),
		},
		{
			Method: "GET", Path: "/instance/{i}/newsletter", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.showChannel,
			ID: "getNewsletter", Summary: "Show a newsletter, by its JID or its invite code.", Query: []string{"newsletterJid", "inviteCode"}, Out: rest.TypeOf[event.Channel](), Codes: rest.AboutPeople(),
		},
		{
			Method: "GET", Path: "/instance/{i}/newsletter/messages", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.listPosts,
			ID: "listNewsletterPosts", Summary: "List the posts of a newsletter with their views and reactions, newest first.",
			About: "WhatsApp is asked for them each time. The file of a post is at media/data, by the content of its message.",
			Query: []string{"newsletterJid", "before", "limit"}, Out: rest.TypeOf[postList](), Codes: rest.AboutPeople(rest.CodeInvalidQuery),
		},
		{
			Method: "POST", Path: "/instance/{i}/newsletter/follow", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.followChannel,
			ID: "followNewsletter", Summary: "Follow a newsletter.", In: rest.TypeOf[channelRequest](), Example: example, Out: rest.TypeOf[followAnswer](), Codes: rest.AboutPeople(),
		},
		{
			Method: "POST", Path: "/instance/{i}/newsletter/unfollow", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.unfollowChannel,
			ID: "unfollowNewsletter", Summary: "Unfollow a newsletter.", In: rest.TypeOf[channelRequest](), Example: example, Out: rest.TypeOf[followAnswer](), Codes: rest.AboutPeople(),
		},
		{
			Method: "POST", Path: "/instance/{i}/newsletter/mute", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.muteChannel,
			ID: "muteNewsletter", Summary: "Mute a newsletter that is followed.", In: rest.TypeOf[channelRequest](), Example: example, Out: rest.TypeOf[MuteAnswer](), Codes: rest.AboutPeople(),
		},
		{
			Method: "POST", Path: "/instance/{i}/newsletter/unmute", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.unmuteChannel,
			ID: "unmuteNewsletter", Summary: "Unmute a newsletter.", In: rest.TypeOf[channelRequest](), Example: example, Out: rest.TypeOf[MuteAnswer](), Codes: rest.AboutPeople(),
		},
	}
}

func (a *API) labelRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "GET", Path: "/instance/{i}/labels", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.listLabels,
			ID: "listLabels", Summary: "List the labels of a business account.", Out: rest.TypeOf[[]event.Label](), Codes: rest.Asking(rest.CodeInvalidQuery),
		},
		{
			Method: "POST", Path: "/instance/{i}/label", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.createLabel,
			ID: "createLabel", Summary: "Create a label.", Once: true, In: rest.TypeOf[createLabelRequest](), Example: `{"name":"New order","color":3}`,
			Status: http.StatusCreated, Out: rest.TypeOf[event.Label](), Codes: rest.Sharing(event.SendResultUnknown),
		},
		{
			Method: "PUT", Path: "/instance/{i}/label", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.editLabel,
			ID: "updateLabel", Summary: "Change a label.", In: rest.TypeOf[editLabelRequest](), Example: `{"labelId":"4","name":"Paid"}`, Out: rest.TypeOf[event.Label](), Codes: rest.Sharing("LABEL_NOT_FOUND"),
		},
		{
			Method: "DELETE", Path: "/instance/{i}/label", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.deleteLabel,
			ID: "deleteLabel", Summary: "Delete a label.", Query: []string{"labelId"}, Out: rest.TypeOf[deletedLabel](), Codes: rest.Sharing("LABEL_NOT_FOUND"),
		},
		{
			Method: "POST", Path: "/instance/{i}/label/assign", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.assignLabel,
			ID: "assignLabel", Summary: "Put a label on a chat.", In: rest.TypeOf[labelChatRequest](), Example: `{"labelId":"4","chat":"4915112345678"}`,
			Out: rest.TypeOf[labelChatAnswer](), Codes: rest.AboutPeople("LABEL_NOT_FOUND", "APP_STATE_CONFLICT"),
		},
		{
			Method: "POST", Path: "/instance/{i}/label/unassign", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.unassignLabel,
			ID: "unassignLabel", Summary: "Remove a label from a chat.", In: rest.TypeOf[labelChatRequest](), Example: `{"labelId":"4","chat":"4915112345678"}`,
			Out: rest.TypeOf[labelChatAnswer](), Codes: rest.AboutPeople("LABEL_NOT_FOUND", "APP_STATE_CONFLICT"),
		},
	}
}
