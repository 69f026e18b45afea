package httpapi

import (
	"net/http"
	"slices"
)

// alias is one row of the table of paths that are other names of current ones.
// In from and to, a segment in braces stands for any one segment; a name that
// occurs twice must match the same text both times.
type alias struct {
	methods []string
	from    string
	to      string
	// legacy marks the paths that only older clients use. What they send is read
	// as they expect: the words of the path in any case, but not where a word
	// could be a name, and unknown JSON fields are ignored.
	legacy bool
}

// aliases is applied before routing, at most once per request, so an alias can
// only mean what its current path means. Its words stand where the current paths
// have an instance name, which is why no instance may have one of them as its
// name, and why the router alone could not hold both.
func aliases() []alias { return slices.Concat(legacyPaths(), otherPaths()) }

// withHEAD gives HEAD to the aliases of routes that answer it.
func withHEAD(table []alias) []alias {
	answers := map[string]bool{}
	for _, r := range slices.Concat(routes(), unlisted()) {
		answers[r.path] = answers[r.path] || r.answersHEAD()
	}
	for i, a := range table {
		if slices.Contains(a.methods, http.MethodGet) && answers[a.to] {
			table[i].methods = append(slices.Clone(a.methods), http.MethodHead)
		}
	}
	return table
}

// legacyPaths are older than the current ones and stay in use.
func legacyPaths() []alias {
	return []alias{
		{methods: []string{"GET", "POST"}, from: "/instance/create", to: "/instance", legacy: true},
		{methods: []string{"GET"}, from: "/instance/fetchInstances", to: "/instance", legacy: true},
		{methods: []string{"GET"}, from: "/instance/fetchInstance/{i}", to: "/instance/{i}", legacy: true},
		{methods: []string{"DELETE"}, from: "/instance/delete/{i}", to: "/instance/{i}", legacy: true},
		{methods: []string{"GET", "POST"}, from: "/instance/connect/{i}", to: "/instance/{i}/connect", legacy: true},
		{methods: []string{"GET"}, from: "/instance/connect/{i}/code/{phone}", to: "/instance/{i}/connect/code/{phone}", legacy: true},
		{methods: []string{"POST"}, from: "/instance/connect/{i}/code", to: "/instance/{i}/connect/code", legacy: true},
		{methods: []string{"POST"}, from: "/instance/connect/{i}/passkey/challenge", to: "/instance/{i}/connect/passkey/challenge", legacy: true},
		{methods: []string{"POST"}, from: "/instance/connect/{i}/passkey/assertion", to: "/instance/{i}/connect/passkey/assertion", legacy: true},
		{methods: []string{"GET"}, from: "/instance/connectionState/{i}", to: "/instance/{i}/connection/status", legacy: true},
		{methods: []string{"DELETE"}, from: "/instance/logout/{i}", to: "/instance/{i}/logout", legacy: true},
		{methods: []string{"PUT"}, from: "/webhook/set/{i}", to: "/instance/{i}/webhook", legacy: true},
		{methods: []string{"GET"}, from: "/webhook/find/{i}", to: "/instance/{i}/webhook", legacy: true},
		{methods: []string{"POST"}, from: "/message/sendText/{i}", to: "/instance/{i}/send/text", legacy: true},
		{methods: []string{"POST"}, from: "/message/sendLink/{i}", to: "/instance/{i}/send/link", legacy: true},
		{methods: []string{"POST"}, from: "/message/sendMedia/{i}", to: "/instance/{i}/send/media", legacy: true},
		{methods: []string{"POST"}, from: "/message/sendWhatsAppAudio/{i}", to: "/instance/{i}/send/ptt", legacy: true},
		{methods: []string{"POST"}, from: "/message/sendMediaFile/{i}", to: "/instance/{i}/send/media-file", legacy: true},
		{methods: []string{"POST"}, from: "/message/sendWhatsAppAudioFile/{i}", to: "/instance/{i}/send/ptt-file", legacy: true},
		{methods: []string{"POST"}, from: "/message/sendContact/{i}", to: "/instance/{i}/send/contact", legacy: true},
		{methods: []string{"POST"}, from: "/message/sendLocation/{i}", to: "/instance/{i}/send/location", legacy: true},
		{methods: []string{"POST"}, from: "/message/sendReaction/{i}", to: "/instance/{i}/send/reaction", legacy: true},
		{methods: []string{"POST"}, from: "/chat/whatsappNumbers/{i}", to: "/instance/{i}/chat/is-account", legacy: true},
		{methods: []string{"PATCH", "POST", "PUT"}, from: "/chat/readMessages/{i}", to: "/instance/{i}/chat/read-message", legacy: true},
		{methods: []string{"POST", "PUT"}, from: "/chat/archiveChat/{i}", to: "/instance/{i}/chat/archive", legacy: true},
		{methods: []string{"DELETE"}, from: "/chat/deleteMessage/{i}", to: "/instance/{i}/chat/delete-message", legacy: true},
		{methods: []string{"POST"}, from: "/chat/fetchProfilePictureUrl/{i}", to: "/instance/{i}/chat/profile-picture", legacy: true},
		{methods: []string{"POST"}, from: "/chat/rejectCall/{i}", to: "/instance/{i}/chat/reject-call", legacy: true},
		{methods: []string{"POST"}, from: "/chat/editMessage/{i}", to: "/instance/{i}/chat/edit-message", legacy: true},
		{methods: []string{"POST"}, from: "/chat/mediaData/{i}", to: "/instance/{i}/media/data", legacy: true},
		{methods: []string{"POST"}, from: "/chat/findMessages/{i}", to: "/instance/{i}/db/messages/pages", legacy: true},
		{methods: []string{"POST"}, from: "/group/create/{i}", to: "/instance/{i}/group", legacy: true},
		{methods: []string{"PUT"}, from: "/group/updateGroupPicture/{i}", to: "/instance/{i}/group/update-picture", legacy: true},
		{methods: []string{"GET"}, from: "/group/inviteCode/{i}", to: "/instance/{i}/group/invitation-code", legacy: true},
		{methods: []string{"PUT"}, from: "/group/revokeInviteCode/{i}", to: "/instance/{i}/group/revoke-invitation", legacy: true},
		{methods: []string{"PUT"}, from: "/group/updateParticipant/{i}", to: "/instance/{i}/group/update-participants", legacy: true},
		{methods: []string{"DELETE"}, from: "/group/leaveGroup/{i}", to: "/instance/{i}/group/leave", legacy: true},
	}
}

// otherPaths are second names of current paths, and documented paths moved to
// where the router can hold them.
func otherPaths() []alias {
	return []alias{
		{methods: []string{"PUT"}, from: "/instance/refreshToken/{i}", to: "/instance/{i}/refreshToken"},
		{methods: []string{"DELETE"}, from: "/instance/{i}/logout/{i}", to: "/instance/{i}/logout"},
		{methods: []string{"POST"}, from: "/instance/{i}/send/ppt", to: "/instance/{i}/send/ptt"},
		{methods: []string{"POST"}, from: "/instance/{i}/send/ppt-file", to: "/instance/{i}/send/ptt-file"},
		{methods: []string{"GET", "DELETE"}, from: "/instance/{i}/media/{id}/uploads", to: "/instance/{i}/upload/{id}"},
		{methods: []string{"POST"}, from: "/message/batches/{id}/resume", to: "/message/batches/{id}/start"},
	}
}
