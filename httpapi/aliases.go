package httpapi

import (
	"slices"
	"strings"
)

// alias is one row of the table of older paths that stay in use. In from and
// to, a segment in braces stands for any one segment; a name that occurs twice
// must match the same text both times.
type alias struct {
	methods []string
	from    string
	to      string
}

// aliases is applied before routing, at most once per request, so a legacy
// path can only mean what its current path means. Its words stand where the
// current paths have an instance name, which is why no instance may have one
// of them as its name, and why the router alone could not hold both.
//
// The rows of refreshToken and of media/{id}/uploads are not older than their
// targets: these are the documented paths, moved to where the router can hold
// them.
func aliases() []alias {
	return []alias{
		{[]string{"POST"}, "/instance/create", "/instance"},
		{[]string{"GET"}, "/instance/fetchInstances", "/instance"},
		{[]string{"GET"}, "/instance/fetchInstance/{i}", "/instance/{i}"},
		{[]string{"DELETE"}, "/instance/delete/{i}", "/instance/{i}"},
		{[]string{"PUT"}, "/instance/refreshToken/{i}", "/instance/{i}/refreshToken"},
		{[]string{"GET", "POST"}, "/instance/connect/{i}", "/instance/{i}/connect"},
		{[]string{"GET"}, "/instance/connect/{i}/code/{phone}", "/instance/{i}/connect/code/{phone}"},
		{[]string{"POST"}, "/instance/connect/{i}/code", "/instance/{i}/connect/code"},
		{[]string{"POST"}, "/instance/connect/{i}/passkey/challenge", "/instance/{i}/connect/passkey/challenge"},
		{[]string{"POST"}, "/instance/connect/{i}/passkey/assertion", "/instance/{i}/connect/passkey/assertion"},
		{[]string{"GET"}, "/instance/connectionState/{i}", "/instance/{i}/connection/status"},
		{[]string{"DELETE"}, "/instance/logout/{i}", "/instance/{i}/logout"},
		{[]string{"DELETE"}, "/instance/{i}/logout/{i}", "/instance/{i}/logout"},
		{[]string{"PUT"}, "/webhook/set/{i}", "/instance/{i}/webhook"},
		{[]string{"GET"}, "/webhook/find/{i}", "/instance/{i}/webhook"},
		{[]string{"POST"}, "/message/sendText/{i}", "/instance/{i}/send/text"},
		{[]string{"POST"}, "/message/sendLink/{i}", "/instance/{i}/send/link"},
		{[]string{"POST"}, "/message/sendMedia/{i}", "/instance/{i}/send/media"},
		{[]string{"POST"}, "/instance/{i}/send/ppt", "/instance/{i}/send/ptt"},
		{[]string{"POST"}, "/message/sendWhatsAppAudio/{i}", "/instance/{i}/send/ptt"},
		{[]string{"POST"}, "/message/sendMediaFile/{i}", "/instance/{i}/send/media-file"},
		{[]string{"POST"}, "/instance/{i}/send/ppt-file", "/instance/{i}/send/ptt-file"},
		{[]string{"POST"}, "/message/sendWhatsAppAudioFile/{i}", "/instance/{i}/send/ptt-file"},
		{[]string{"POST"}, "/message/sendContact/{i}", "/instance/{i}/send/contact"},
		{[]string{"POST"}, "/message/sendLocation/{i}", "/instance/{i}/send/location"},
		{[]string{"POST"}, "/message/sendReaction/{i}", "/instance/{i}/send/reaction"},
		{[]string{"POST"}, "/chat/whatsappNumbers/{i}", "/instance/{i}/chat/is-account"},
		{[]string{"POST", "PUT"}, "/chat/readMessages/{i}", "/instance/{i}/chat/read-message"},
		{[]string{"POST", "PUT"}, "/chat/archiveChat/{i}", "/instance/{i}/chat/archive"},
		{[]string{"DELETE"}, "/chat/deleteMessage/{i}", "/instance/{i}/chat/delete-message"},
		{[]string{"POST"}, "/chat/fetchProfilePictureUrl/{i}", "/instance/{i}/chat/profile-picture"},
		{[]string{"POST"}, "/chat/rejectCall/{i}", "/instance/{i}/chat/reject-call"},
		{[]string{"POST"}, "/chat/editMessage/{i}", "/instance/{i}/chat/edit-message"},
		{[]string{"POST"}, "/chat/mediaData/{i}", "/instance/{i}/media/data"},
		{[]string{"POST"}, "/chat/findMessages/{i}", "/instance/{i}/db/messages/pages"},
		{[]string{"POST"}, "/group/create/{i}", "/instance/{i}/group"},
		{[]string{"PUT"}, "/group/updateGroupPicture/{i}", "/instance/{i}/group/update-picture"},
		{[]string{"GET"}, "/group/inviteCode/{i}", "/instance/{i}/group/invitation-code"},
		{[]string{"PUT"}, "/group/revokeInviteCode/{i}", "/instance/{i}/group/revoke-invitation"},
		{[]string{"PUT"}, "/group/updateParticipant/{i}", "/instance/{i}/group/update-participants"},
		{[]string{"DELETE"}, "/group/leaveGroup/{i}", "/instance/{i}/group/leave"},
		{[]string{"GET", "DELETE"}, "/instance/{i}/media/{id}/uploads", "/instance/{i}/upload/{id}"},
		{[]string{"POST"}, "/message/batches/{id}/resume", "/message/batches/{id}/start"},
	}
}

// rewrite returns the current path of a legacy one, or path itself. When path
// is a legacy path but not for this method, ok is false and allowed lists its
// methods.
func rewrite(table []alias, method, path string) (current string, allowed []string, ok bool) {
	for _, a := range table {
		values, match := matchPath(a.from, path)
		if !match {
			continue
		}
		if !slices.Contains(a.methods, method) {
			allowed = append(allowed, a.methods...)
			continue
		}
		return fill(a.to, values), nil, true
	}
	return path, allowed, len(allowed) == 0
}

// matchPath reports whether a path fits pattern, and what stands for each of
// its names. An empty segment never fits. Every request is held against every
// alias, so that one which does not fit costs no memory.
func matchPath(pattern, path string) (values map[string]string, ok bool) {
	if !fits(pattern, path) {
		return nil, false
	}
	values = map[string]string{}
	got := strings.Split(path, "/")
	for i, name := range strings.Split(pattern, "/") {
		if !isName(name) {
			continue
		}
		if earlier, bound := values[name]; bound && earlier != got[i] {
			return nil, false
		}
		values[name] = got[i]
	}
	return values, true
}

func fits(pattern, path string) bool {
	for {
		want, wanted, more := strings.Cut(pattern, "/")
		got, left, goesOn := strings.Cut(path, "/")
		if more != goesOn || want != got && (!isName(want) || got == "") {
			return false
		}
		if !more {
			return true
		}
		pattern, path = wanted, left
	}
}

func isName(segment string) bool { return strings.HasPrefix(segment, "{") }

func fill(pattern string, values map[string]string) string {
	segments := strings.Split(pattern, "/")
	for i, s := range segments {
		if v, ok := values[s]; ok {
			segments[i] = v
		}
	}
	return strings.Join(segments, "/")
}
