package sends

import "postern/httpapi/rest"

// Routes returns the paths of the package, with their handlers.
func (a *API) Routes() []rest.Route {
	return rest.Describe([]rest.Route{
		{Method: "POST", Path: "/instance/{i}/send/text", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: Send[SendTextRequest](a)},
		{Method: "POST", Path: "/instance/{i}/send/link", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: Send[sendLinkRequest](a)},
		{Method: "POST", Path: "/instance/{i}/send/media", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: Send[sendMediaRequest](a)},
		{Method: "POST", Path: "/instance/{i}/send/media-file", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.sendMediaFile},
		{Method: "POST", Path: "/instance/{i}/send/ptt", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: Send[sendVoiceRequest](a)},
		{Method: "POST", Path: "/instance/{i}/send/ptt-file", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.sendVoiceFile},
		{Method: "POST", Path: "/instance/{i}/send/contact", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: Send[sendContactRequest](a)},
		{Method: "POST", Path: "/instance/{i}/send/location", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: Send[sendLocationRequest](a)},
		{Method: "POST", Path: "/instance/{i}/send/reaction", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: Send[sendReactionRequest](a)},
		{Method: "POST", Path: "/instance/{i}/send/sticker", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: Send[sendStickerRequest](a)},
		{Method: "POST", Path: "/instance/{i}/send/sticker-file", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.sendStickerFile},
		{Method: "POST", Path: "/instance/{i}/send/poll", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: Send[sendPollRequest](a)},
		{Method: "POST", Path: "/instance/{i}/send/forward", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.sendForward},
		{Method: "POST", Path: "/instance/{i}/send/status", Auth: rest.InstanceBearer, Right: rest.ScopeSend, Handle: a.sendStatus},
		{Method: "POST", Path: "/instance/{i}/notify", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.notify},
		{Method: "POST", Path: "/instance/{i}/media/data", Auth: rest.InstanceBearer, Right: rest.ScopeMedia, Handle: a.mediaData},
		{Method: "POST", Path: "/instance/{i}/media/uploads", Auth: rest.InstanceBearer, Right: rest.ScopeMedia, Handle: a.createUpload},
		{Method: "GET", Path: "/instance/{i}/media/uploads", Auth: rest.InstanceBearer, Right: rest.ScopeMedia, Handle: a.listUploads},
		{Method: "GET", Path: "/instance/{i}/upload/{id}", Auth: rest.InstanceBearer, Right: rest.ScopeMedia, Handle: a.showUpload},
		{Method: "DELETE", Path: "/instance/{i}/upload/{id}", Auth: rest.InstanceBearer, Right: rest.ScopeMedia, Handle: a.deleteUpload},
		{Method: "POST", Path: "/instance/{i}/chat/edit-message", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.editMessage},
		{Method: "DELETE", Path: "/instance/{i}/chat/delete-message", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.deleteMessage},
	}, sendDescriptions(), fileDescriptions(), editDescriptions(), notifyDescriptions())
}
