package httpapi

import "strings"

// route is one row of the route table. In path, a segment in braces is a
// parameter: {i} an instance name, {id} what the path is about, such as a batch, {item} an item of it.
type route struct {
	method string
	path   string
	auth   scheme
	handle func(*api, *call) error
}

// isSocket tells a path that is a WebSocket.
func (r route) isSocket() bool { return strings.HasPrefix(r.path, "/ws/") }

// routes is every path of the program but those of a mounted handler. Legacy
// paths are in [aliases]. A handler in [once] takes an Idempotency-Key; its row
// of [descriptions] says so too.
func routes() []route {
	return []route{
		{"GET", "/health", public, (*api).health},
		{"GET", "/ready", public, (*api).ready},

		{"POST", "/auth/user-token", globalKey, (*api).issueUserToken},

		{"POST", "/instance", globalKey, (*api).createInstance},
		{"GET", "/instance", globalKey, (*api).listInstances},
		{"GET", "/instance/{i}", instanceBearer, (*api).showInstance},
		{"DELETE", "/instance/{i}", instanceBearer, (*api).deleteInstance},
		{"PUT", "/instance/{i}/refreshToken", instanceBearer, (*api).refreshToken},
		{"PUT", "/instance/{i}/token", globalKey, (*api).issueInstanceToken},

		{"GET", "/instance/{i}/connect", instanceBearer, (*api).connect},
		{"POST", "/instance/{i}/connect", instanceBearer, (*api).connect},
		{"GET", "/instance/{i}/connect/code/{phone}", instanceBearer, (*api).pairByPath},
		{"POST", "/instance/{i}/connect/code", instanceBearer, (*api).pairByBody},
		{"POST", "/instance/{i}/connect/passkey/challenge", instanceBearer, (*api).passkeyChallenge},
		{"GET", "/instance/{i}/connect/passkey/script", instanceBearer, (*api).passkeyScript},
		{"POST", "/instance/{i}/connect/passkey/assertion", instanceBearer, (*api).passkeyAssertion},
		{"POST", "/instance/{i}/connect/passkey/confirm", instanceBearer, (*api).confirmPasskey},
		{"GET", "/instance/{i}/qr.png", instanceBearer, (*api).showCode},
		{"GET", "/instance/{i}/connection/status", instanceBearer, (*api).connectionStatus},
		{"DELETE", "/instance/{i}/logout", instanceBearer, (*api).logout},
		{"POST", "/instance/{i}/restart", instanceBearer, (*api).restart},
		{"POST", "/instance/{i}/app-state/reset", instanceBearer, (*api).resetAppState},

		{"PUT", "/instance/{i}/limits", instanceBearer, (*api).putLimits},
		{"GET", "/instance/{i}/limits", instanceBearer, (*api).showLimits},

		{"PUT", "/instance/{i}/webhook", instanceBearer, (*api).putWebhook},
		{"GET", "/instance/{i}/webhook", instanceBearer, (*api).showWebhook},
		{"POST", "/instance/{i}/webhook/test", instanceBearer, (*api).tryWebhook},
		{"PUT", "/instance/{i}/webhook/options", instanceBearer, (*api).putOptions},
		{"GET", "/instance/{i}/webhook/options", instanceBearer, (*api).showOptions},
		{"DELETE", "/instance/{i}/webhook/options", instanceBearer, (*api).dropOptions},
		{"POST", "/instance/{i}/webhook/options/rotate-secret", instanceBearer, (*api).rotateSecret},

		{"PUT", "/webhook/options", globalKey, (*api).putGlobalOptions},
		{"GET", "/webhook/options", globalKey, (*api).showGlobalOptions},
		{"DELETE", "/webhook/options", globalKey, (*api).dropGlobalOptions},
		{"POST", "/webhook/options/rotate-secret", globalKey, (*api).rotateGlobalSecret},

		{"GET", "/instance/{i}/webhook/deliveries", instanceBearer, (*api).listDeliveries},
		{"GET", "/instance/{i}/webhook/deliveries/{id}", instanceBearer, (*api).showDelivery},
		{"POST", "/instance/{i}/webhook/deliveries/{id}/retry", instanceBearer, (*api).retryDelivery},
		{"POST", "/instance/{i}/webhook/deliveries/replay", instanceBearer, once((*api).replayDeliveries)},
		{"GET", "/instance/{i}/webhook/replays/{id}", instanceBearer, (*api).showReplay},
		{"DELETE", "/instance/{i}/webhook/replays/{id}", instanceBearer, (*api).cancelReplay},

		{"PUT", "/instance/{i}/settings", instanceBearer, (*api).putSettings},
		{"GET", "/instance/{i}/settings", instanceBearer, (*api).showSettings},

		{"PUT", "/instance/{i}/proxy", instanceBearer, (*api).putProxy},
		{"GET", "/instance/{i}/proxy", instanceBearer, (*api).showProxy},
		{"DELETE", "/instance/{i}/proxy", instanceBearer, (*api).deleteProxy},
		{"POST", "/instance/{i}/proxy/test", instanceBearer, (*api).tryProxy},

		{"POST", "/instance/{i}/send/text", instanceBearer, once(send[sendTextRequest])},
		{"POST", "/instance/{i}/send/link", instanceBearer, once(send[sendLinkRequest])},
		{"POST", "/instance/{i}/send/media", instanceBearer, once(send[sendMediaRequest])},
		{"POST", "/instance/{i}/send/media-file", instanceBearer, once((*api).sendMediaFile)},
		{"POST", "/instance/{i}/send/ptt", instanceBearer, once(send[sendVoiceRequest])},
		{"POST", "/instance/{i}/send/ptt-file", instanceBearer, once((*api).sendVoiceFile)},
		{"POST", "/instance/{i}/send/contact", instanceBearer, once(send[sendContactRequest])},
		{"POST", "/instance/{i}/send/location", instanceBearer, once(send[sendLocationRequest])},
		{"POST", "/instance/{i}/send/reaction", instanceBearer, once(send[sendReactionRequest])},
		{"POST", "/instance/{i}/send/sticker", instanceBearer, once(send[sendStickerRequest])},
		{"POST", "/instance/{i}/send/sticker-file", instanceBearer, once((*api).sendStickerFile)},
		{"POST", "/instance/{i}/send/poll", instanceBearer, once(send[sendPollRequest])},
		{"POST", "/instance/{i}/send/forward", instanceBearer, once((*api).sendForward)},
		{"POST", "/instance/{i}/send/status", instanceBearer, once((*api).sendStatus)},

		{"POST", "/instance/{i}/chat/is-account", instanceBearer, chatOperation((*numbersRequest).check, lookUpNumbers)},
		{"POST", "/instance/{i}/chat/read-message", instanceBearer, (*api).readMessages},
		{"PUT", "/instance/{i}/chat/read-message", instanceBearer, (*api).readMessages},
		{"PATCH", "/instance/{i}/chat/read-message", instanceBearer, (*api).readMessages},
		{"POST", "/instance/{i}/chat/archive", instanceBearer, quietOperation((*archiveRequest).check, archiveChat)},
		{"PUT", "/instance/{i}/chat/archive", instanceBearer, quietOperation((*archiveRequest).check, archiveChat)},
		{"POST", "/instance/{i}/chat/pin", instanceBearer, chatOperation((*pinRequest).check, pinChat)},
		{"POST", "/instance/{i}/chat/mute", instanceBearer, chatOperation((*muteRequest).check, muteChat)},
		{"POST", "/instance/{i}/chat/star", instanceBearer, (*api).starMessage},
		{"POST", "/instance/{i}/chat/block", instanceBearer, chatOperation((*blockRequest).check, blockPerson)},
		{"GET", "/instance/{i}/chat/blocked", instanceBearer, (*api).listBlocked},
		{"POST", "/instance/{i}/chat/edit-message", instanceBearer, once((*api).editMessage)},
		{"DELETE", "/instance/{i}/chat/delete-message", instanceBearer, once((*api).deleteMessage)},
		{"POST", "/instance/{i}/chat/profile-picture", instanceBearer, chatOperation((*profilePictureRequest).check, showPicture)},
		{"POST", "/instance/{i}/chat/history", instanceBearer, (*api).askHistory},
		{"POST", "/instance/{i}/chat/reject-call", instanceBearer, quietOperation((*rejectRequest).check, rejectCall)},
		{"POST", "/instance/{i}/chat/presence", instanceBearer, chatOperation((*presenceRequest).check, showPresence)},

		{"POST", "/instance/{i}/media/data", instanceBearer, (*api).mediaData},

		{"POST", "/instance/{i}/media/uploads", instanceBearer, (*api).createUpload},
		{"GET", "/instance/{i}/media/uploads", instanceBearer, (*api).listUploads},
		{"GET", "/instance/{i}/upload/{id}", instanceBearer, (*api).showUpload},
		{"DELETE", "/instance/{i}/upload/{id}", instanceBearer, (*api).deleteUpload},

		{"POST", "/instance/{i}/db/messages", instanceBearer, (*api).listMessages},
		{"POST", "/instance/{i}/db/messages/pages", instanceBearer, (*api).findMessages},
		{"GET", "/instance/{i}/contacts", instanceBearer, (*api).listContacts},
		{"GET", "/instance/{i}/chats", instanceBearer, (*api).listChats},
		{"GET", "/instance/{i}/chats/{jid}/messages", instanceBearer, (*api).searchChat},

		{"POST", "/instance/{i}/group", instanceBearer, once((*api).createGroup)},
		{"GET", "/instance/{i}/group", instanceBearer, (*api).showGroup},
		{"GET", "/instance/{i}/groups", instanceBearer, (*api).listGroups},
		{"PUT", "/instance/{i}/group/update-picture", instanceBearer, (*api).changePicture},
		{"PUT", "/instance/{i}/group/update-participants", instanceBearer, (*api).changeMembers},
		{"PUT", "/instance/{i}/group/subject", instanceBearer, (*api).changeSubject},
		{"PUT", "/instance/{i}/group/description", instanceBearer, (*api).changeDescription},
		{"PUT", "/instance/{i}/group/settings", instanceBearer, (*api).changeSettings},
		{"GET", "/instance/{i}/group/invitation-code", instanceBearer, (*api).showInvite},
		{"PUT", "/instance/{i}/group/revoke-invitation", instanceBearer, (*api).revokeInvite},
		{"GET", "/instance/{i}/group/invitation", instanceBearer, (*api).showInvited},
		{"POST", "/instance/{i}/group/join", instanceBearer, (*api).joinGroup},
		{"GET", "/instance/{i}/group/join-requests", instanceBearer, (*api).listJoinRequests},
		{"PUT", "/instance/{i}/group/join-requests", instanceBearer, (*api).decideJoinRequests},
		{"DELETE", "/instance/{i}/group/leave", instanceBearer, (*api).leaveGroup},

		{"GET", "/instance/{i}/newsletters", instanceBearer, (*api).listChannels},
		{"GET", "/instance/{i}/newsletter", instanceBearer, (*api).showChannel},
		{"POST", "/instance/{i}/newsletter/follow", instanceBearer, (*api).followChannel},
		{"POST", "/instance/{i}/newsletter/unfollow", instanceBearer, (*api).unfollowChannel},
		{"POST", "/instance/{i}/newsletter/mute", instanceBearer, (*api).muteChannel},
		{"POST", "/instance/{i}/newsletter/unmute", instanceBearer, (*api).unmuteChannel},

		{"GET", "/instance/{i}/labels", instanceBearer, (*api).listLabels},
		{"POST", "/instance/{i}/label", instanceBearer, once((*api).createLabel)},
		{"PUT", "/instance/{i}/label", instanceBearer, (*api).editLabel},
		{"DELETE", "/instance/{i}/label", instanceBearer, (*api).deleteLabel},
		{"POST", "/instance/{i}/label/assign", instanceBearer, (*api).assignLabel},
		{"POST", "/instance/{i}/label/unassign", instanceBearer, (*api).unassignLabel},

		{"POST", "/message/batches", userBearer, once((*api).createBatch)},
		{"GET", "/message/batches", userBearer, (*api).listBatchesByQuery},
		{"POST", "/message/batches/list", userBearer, (*api).listBatchesByBody},
		{"GET", "/message/batches/{id}", userBearer, (*api).showBatch},
		{"DELETE", "/message/batches/{id}", userBearer, (*api).deleteBatch},
		{"GET", "/message/batches/{id}/items", userBearer, (*api).listItems},
		{"GET", "/message/batches/{id}/items/{item}", userBearer, (*api).showItem},
		{"GET", "/message/batches/{id}/attempts", userBearer, (*api).listAttempts},
		{"GET", "/message/batches/{id}/processing", userBearer, (*api).showProcessing},
		{"POST", "/message/batches/{id}/start", userBearer, (*api).startBatch},
		{"POST", "/message/batches/{id}/pause", userBearer, (*api).pauseBatch},
		{"POST", "/message/batches/{id}/stop", userBearer, (*api).stopBatch},

		{"GET", "/admin/batches", globalKey, (*api).listAllBatches},
		{"POST", "/admin/batches/{id}/pause", globalKey, (*api).pauseAnyBatch},
		{"POST", "/admin/batches/{id}/stop", globalKey, (*api).stopAnyBatch},

		{"POST", "/admin/backup", globalKey, (*api).makeBackup},
		{"POST", "/admin/check", globalKey, (*api).checkData},
		{"GET", "/admin/log", globalKey, (*api).showLog},
		{"PUT", "/admin/log", globalKey, (*api).putLog},
		{"DELETE", "/admin/log", globalKey, (*api).resetLog},
		{"GET", "/admin/log/lines", globalKey, (*api).showLogLines},
		{"GET", "/admin/stats", globalKey, (*api).showStats},
		{"GET", "/admin/config", globalKey, (*api).showConfig},
		{"GET", "/admin/support", globalKey, (*api).makeSupport},
		{"GET", "/admin/samples", globalKey, (*api).listSamples},
		{"GET", "/admin/profile/heap", globalKey, (*api).profileMemory},
		{"GET", "/admin/profile/goroutine", globalKey, (*api).profileGoroutines},
		{"GET", "/admin/profile/cpu", globalKey, (*api).profileProcessor},

		{"GET", "/message/batches/{id}/events", userBearer, (*api).listEvents},
		{"GET", "/outbox", globalKey, (*api).listOutbox},
		{"POST", "/outbox/retry", globalKey, (*api).retryOutbox},
		{"POST", "/outbox/{id}/retry", globalKey, (*api).retryEntry},

		{"GET", "/webhook/deliveries", globalKey, (*api).listDeliveries},
		{"GET", "/webhook/deliveries/{id}", globalKey, (*api).showDelivery},
		{"POST", "/webhook/deliveries/{id}/retry", globalKey, (*api).retryDelivery},
		{"POST", "/webhook/deliveries/replay", globalKey, once((*api).replayDeliveries)},
		{"GET", "/webhook/replays/{id}", globalKey, (*api).showReplay},
		{"DELETE", "/webhook/replays/{id}", globalKey, (*api).cancelReplay},

		{"GET", "/ws/global/events", handshake, (*api).globalEvents},
		{"GET", "/ws/instance/events", handshake, (*api).instanceEvents},
		{"GET", "/ws/console", globalKey, (*api).openConsole},
	}
}
