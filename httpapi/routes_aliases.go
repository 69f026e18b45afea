package httpapi

import (
	"net/http"
	"slices"

	"postern/httpapi/rest"
)

// aliases is applied before routing, at most once per request, so an alias has exactly the meaning of its
// current path. Its words are where the current paths have an instance name. Therefore no instance may have
// one of them as its name, and the router alone could not hold both.
func aliases() []rest.Alias { return slices.Concat(legacyPaths(), otherPaths()) }

// withHEAD adds HEAD to the aliases of routes that answer it.
func withHEAD(table []rest.Alias) []rest.Alias {
	answers := map[string]bool{}
	for _, r := range slices.Concat(routes(), unlisted()) {
		answers[r.Path] = answers[r.Path] || r.AnswersHEAD()
	}
	for i, a := range table {
		if slices.Contains(a.Methods, http.MethodGet) && answers[a.To] {
			table[i].Methods = append(slices.Clone(a.Methods), http.MethodHead)
		}
	}
	return table
}

// legacyPaths are older than the current ones and still in use.
func legacyPaths() []rest.Alias {
	return []rest.Alias{
		{Methods: []string{"GET", "POST"}, From: "/instance/create", To: "/instance", Legacy: true},
		{Methods: []string{"GET"}, From: "/instance/fetchInstances", To: "/instance", Legacy: true},
		{Methods: []string{"GET"}, From: "/instance/fetchInstance/{i}", To: "/instance/{i}", Legacy: true},
		{Methods: []string{"DELETE"}, From: "/instance/delete/{i}", To: "/instance/{i}", Legacy: true},
		{Methods: []string{"GET", "POST"}, From: "/instance/connect/{i}", To: "/instance/{i}/connect", Legacy: true},
		{Methods: []string{"GET"}, From: "/instance/connect/{i}/code/{phone}", To: "/instance/{i}/connect/code/{phone}", Legacy: true},
		{Methods: []string{"POST"}, From: "/instance/connect/{i}/code", To: "/instance/{i}/connect/code", Legacy: true},
		{Methods: []string{"POST"}, From: "/instance/connect/{i}/passkey/challenge", To: "/instance/{i}/connect/passkey/challenge", Legacy: true},
		{Methods: []string{"POST"}, From: "/instance/connect/{i}/passkey/assertion", To: "/instance/{i}/connect/passkey/assertion", Legacy: true},
		{Methods: []string{"GET"}, From: "/instance/connectionState/{i}", To: "/instance/{i}/connection/status", Legacy: true},
		{Methods: []string{"DELETE"}, From: "/instance/logout/{i}", To: "/instance/{i}/logout", Legacy: true},
		{Methods: []string{"PUT"}, From: "/webhook/set/{i}", To: "/instance/{i}/webhook", Legacy: true},
		{Methods: []string{"GET"}, From: "/webhook/find/{i}", To: "/instance/{i}/webhook", Legacy: true},
		{Methods: []string{"POST"}, From: "/message/sendText/{i}", To: "/instance/{i}/send/text", Legacy: true},
		{Methods: []string{"POST"}, From: "/message/sendLink/{i}", To: "/instance/{i}/send/link", Legacy: true},
		{Methods: []string{"POST"}, From: "/message/sendMedia/{i}", To: "/instance/{i}/send/media", Legacy: true},
		{Methods: []string{"POST"}, From: "/message/sendWhatsAppAudio/{i}", To: "/instance/{i}/send/ptt", Legacy: true},
		{Methods: []string{"POST"}, From: "/message/sendMediaFile/{i}", To: "/instance/{i}/send/media-file", Legacy: true},
		{Methods: []string{"POST"}, From: "/message/sendWhatsAppAudioFile/{i}", To: "/instance/{i}/send/ptt-file", Legacy: true},
		{Methods: []string{"POST"}, From: "/message/sendContact/{i}", To: "/instance/{i}/send/contact", Legacy: true},
		{Methods: []string{"POST"}, From: "/message/sendLocation/{i}", To: "/instance/{i}/send/location", Legacy: true},
		{Methods: []string{"POST"}, From: "/message/sendReaction/{i}", To: "/instance/{i}/send/reaction", Legacy: true},
		{Methods: []string{"POST"}, From: "/chat/whatsappNumbers/{i}", To: "/instance/{i}/chat/is-account", Legacy: true},
		{Methods: []string{"PATCH", "POST", "PUT"}, From: "/chat/readMessages/{i}", To: "/instance/{i}/chat/read-message", Legacy: true},
		{Methods: []string{"POST", "PUT"}, From: "/chat/archiveChat/{i}", To: "/instance/{i}/chat/archive", Legacy: true},
		{Methods: []string{"DELETE"}, From: "/chat/deleteMessage/{i}", To: "/instance/{i}/chat/delete-message", Legacy: true},
		{Methods: []string{"POST"}, From: "/chat/fetchProfilePictureUrl/{i}", To: "/instance/{i}/chat/profile-picture", Legacy: true},
		{Methods: []string{"POST"}, From: "/chat/rejectCall/{i}", To: "/instance/{i}/chat/reject-call", Legacy: true},
		{Methods: []string{"POST"}, From: "/chat/editMessage/{i}", To: "/instance/{i}/chat/edit-message", Legacy: true},
		{Methods: []string{"POST"}, From: "/chat/mediaData/{i}", To: "/instance/{i}/media/data", Legacy: true},
		{Methods: []string{"POST"}, From: "/chat/findMessages/{i}", To: "/instance/{i}/db/messages/pages", Legacy: true},
		{Methods: []string{"POST"}, From: "/group/create/{i}", To: "/instance/{i}/group", Legacy: true},
		{Methods: []string{"PUT"}, From: "/group/updateGroupPicture/{i}", To: "/instance/{i}/group/update-picture", Legacy: true},
		{Methods: []string{"GET"}, From: "/group/inviteCode/{i}", To: "/instance/{i}/group/invitation-code", Legacy: true},
		{Methods: []string{"PUT"}, From: "/group/revokeInviteCode/{i}", To: "/instance/{i}/group/revoke-invitation", Legacy: true},
		{Methods: []string{"PUT"}, From: "/group/updateParticipant/{i}", To: "/instance/{i}/group/update-participants", Legacy: true},
		{Methods: []string{"DELETE"}, From: "/group/leaveGroup/{i}", To: "/instance/{i}/group/leave", Legacy: true},
	}
}

// otherPaths are second names of current paths, and documented paths that the router could not hold in their
// place.
func otherPaths() []rest.Alias {
	return []rest.Alias{
		{Methods: []string{"PUT"}, From: "/instance/refreshToken/{i}", To: "/instance/{i}/refreshToken"},
		{Methods: []string{"DELETE"}, From: "/instance/{i}/logout/{i}", To: "/instance/{i}/logout"},
		{Methods: []string{"POST"}, From: "/instance/{i}/send/ppt", To: "/instance/{i}/send/ptt"},
		{Methods: []string{"POST"}, From: "/instance/{i}/send/ppt-file", To: "/instance/{i}/send/ptt-file"},
		{Methods: []string{"GET", "DELETE"}, From: "/instance/{i}/media/{id}/uploads", To: "/instance/{i}/upload/{id}"},
		{Methods: []string{"POST"}, From: "/message/batches/{id}/resume", To: "/message/batches/{id}/start"},
	}
}
