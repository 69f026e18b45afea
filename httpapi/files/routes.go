package files

import (
	"net/http"

	"postern/batch"
	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
)

// Routes returns the paths of the package, with their handlers and what the documents say about them.
func (a *API) Routes() []rest.Route {
	codes := rest.Asking("MESSAGE_WITHOUT_MEDIA", "MEDIA_GONE", "INVALID_MEDIA", "DISK_FULL", "MEDIA_PENDING", "RANGE_NOT_SATISFIABLE", "PRECONDITION_FAILED", rest.CodeLimitReached)
	also := []openapi.Answer{{Status: http.StatusPartialContent, Media: "*/*"}, {Status: http.StatusNotModified}}
	linked := rest.Route{
		Method: "GET", Path: "/media/{token}/{name}", Auth: rest.Public, Handle: a.showLinked,
		ID: "getLinkedMedia", Summary: "Download the file of a link.",
		About: "The token is the credential, and name is not looked at. Revoked and invalid tokens are answered 404, expired ones 410.",
		Query: []string{"download"}, Media: "*/*", Also: also, Codes: append(rest.Codes{rest.CodeNotFound, "LINK_EXPIRED"}, codes...),
	}
	short := linked
	short.Path, short.ID = "/media/{token}", "getMediaByToken"
	return []rest.Route{
		{
			Method: "GET", Path: "/instance/{i}/messages/{id}/media", Auth: rest.InstanceBearer, Right: rest.ScopeMedia, Handle: a.showFile,
			ID: "getMessageMedia", Summary: "Download the file of a stored message as it is.",
			About: "The content type follows from the bytes. Ranges and conditional requests are answered as HTTP defines them. The path takes the integer id of the message only.",
			Query: []string{"download"}, Media: "*/*", Also: also, Codes: append(rest.Codes{"MESSAGE_NOT_FOUND"}, codes...),
		},
		{
			Method: "DELETE", Path: "/instance/{i}/messages/{id}/media", Auth: rest.InstanceBearer, Right: rest.ScopeManage, Handle: rest.Audited("media.delete", a.dropFile),
			ID: "deleteMessageMedia", Summary: "Remove the kept file of a stored message. The message stays.", About: "The next download fetches the file from WhatsApp again.",
			Status: http.StatusNoContent, Codes: rest.Codes{"MESSAGE_NOT_FOUND"},
		},
		{
			Method: "POST", Path: "/instance/{i}/messages/{id}/media/link", Auth: rest.InstanceBearer, Right: rest.ScopeMedia, Handle: a.makeLink,
			ID: "createMediaLink", Summary: "Make a link to the file of a stored message.",
			About: "Everybody who has the link can download the file until it expires. It outlives the key that made it; revoke-links ends all links of the instance.",
			In:    rest.TypeOf[linkRequest](), Example: `{"expiresIn":86400}`, Status: http.StatusCreated, Out: rest.TypeOf[event.MediaLink](),
			Codes: rest.Codes{"MESSAGE_NOT_FOUND", "MESSAGE_WITHOUT_MEDIA", rest.CodeExpiresIn}, Advice: map[string]string{rest.CodeExpiresIn: LinkLife().Advice()},
		},
		{
			Method: "POST", Path: "/instance/{i}/media/revoke-links", Auth: rest.InstanceBearer, Right: rest.ScopeManage, Handle: rest.Audited("media.revoke", a.revokeLinks),
			ID: "revokeMediaLinks", Summary: "Make all earlier media links of the instance invalid.", Out: rest.TypeOf[revokedLinks](), Codes: rest.Codes{"DISK_FULL"},
		},
		{
			Method: "GET", Path: "/instance/{i}/media/files", Auth: rest.InstanceBearer, Right: rest.ScopeMedia, Handle: a.listFiles,
			ID: "listMediaFiles", Summary: "List the files of messages that are kept or were to be kept, newest first.", Query: rest.Cursors("state"),
			About: "With a state, a call reads 5000 records: a page may have fewer than its limit, even none, and still a next page.",
			Out:   rest.TypeOf[batch.List[KeptFile]](), Codes: rest.Codes{rest.CodeNoCursor},
		},
		short,
		linked,
	}
}
