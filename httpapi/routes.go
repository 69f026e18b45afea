package httpapi

import (
	"net/http"
	"slices"
	"strings"
)

// route is one row of the route table. In path, a segment in braces is a
// parameter: {i} an instance name, {id} what the path is about, such as a batch, {item} an item of it.
type route struct {
	method string
	path   string
	auth   scheme
	right  right // of a scoped key
	handle func(*api, *call) error
}

// isSocket reports whether a path is a WebSocket.
func (r route) isSocket() bool { return strings.HasPrefix(r.path, "/ws/") }

// answersHEAD reports whether HEAD is answered as GET is, without the body: everywhere but
// where GET begins a pairing or carries it on, which HEAD must not, and at handshakes.
func (r route) answersHEAD() bool {
	return r.method == http.MethodGet && !r.isSocket() && r.right != scopePair && !slices.Contains(strings.Split(r.path, "/"), "connect")
}

// routes is every path of the program but those of a mounted handler. Legacy
// paths are in [aliases]. A handler in [once] takes an Idempotency-Key; its row
// of [descriptions] says so too; one in [audited] is noted in the audit log.
func routes() []route {
	return []route{
		{"GET", "/health", public, never, (*api).health},
		{"GET", "/ready", public, never, (*api).ready},

		{"POST", "/keys", globalKey, never, audited("key.create", (*api).createKey)},
		{"GET", "/keys", globalKey, never, (*api).listKeys},
		{"GET", "/keys/{id}", globalKey, never, (*api).showKey},
		{"PATCH", "/keys/{id}", globalKey, never, audited("key.change", (*api).changeKey)},
		{"DELETE", "/keys/{id}", globalKey, never, audited("key.delete", (*api).deleteKey)},
		{"GET", "/audit", globalKey, never, (*api).listAudit},

		{"POST", "/session", signIn, anyScope, fewSignIns(audited("session.create", (*api).beginSession))},
		{"GET", "/session", anyKey, anyScope, (*api).showSession},
		{"POST", "/session/calls", anyKey, anyScope, (*api).noteCall},
		{"DELETE", "/session", anyKey, anyScope, (*api).endSession},

		{"POST", "/auth/user-token", globalKey, never, audited("token.create", (*api).issueUserToken)},

		{"POST", "/instance", globalKey, scopeManage | everywhere, audited("instance.create", (*api).createInstance)},
		{"GET", "/instance", globalKey, scopeRead, (*api).listInstances},
		{"GET", "/instance/{i}", instanceBearer, scopeRead, (*api).showInstance},
		{"DELETE", "/instance/{i}", instanceBearer, scopeManage, audited("instance.delete", (*api).deleteInstance)},
		{"PUT", "/instance/{i}/refreshToken", instanceBearer, never, audited("token.refresh", (*api).refreshToken)},
		{"PUT", "/instance/{i}/token", globalKey, never, audited("token.create", (*api).issueInstanceToken)},
		{"POST", "/instance/{i}/export", globalKey, never, audited("instance.export", (*api).exportInstance)},
		{"DELETE", "/instance/{i}/export", globalKey, never, audited("instance.export.undo", (*api).undoExport)},

		{"GET", "/instance/{i}/connect", instanceBearer, scopePair, (*api).connect},
		{"POST", "/instance/{i}/connect", instanceBearer, scopePair, (*api).connect},
		{"GET", "/instance/{i}/connect/code/{phone}", instanceBearer, scopePair, (*api).pairByPath},
		{"POST", "/instance/{i}/connect/code", instanceBearer, scopePair, (*api).pairByBody},
		{"POST", "/instance/{i}/connect/passkey/challenge", instanceBearer, scopePair, (*api).passkeyChallenge},
		{"GET", "/instance/{i}/connect/passkey/script", instanceBearer, scopePair, (*api).passkeyScript},
		{"POST", "/instance/{i}/connect/passkey/assertion", instanceBearer, scopePair, (*api).passkeyAssertion},
		{"POST", "/instance/{i}/connect/passkey/confirm", instanceBearer, scopePair, (*api).confirmPasskey},
		{"POST", "/instance/{i}/portal-link", instanceBearer, scopePair, audited("portal.create", (*api).makePortalLink)},
		{"GET", "/portal/{token}", public, never, (*api).portalPage},
		{"GET", "/portal/{token}/state", portalLink, never, (*api).showPortal},
		{"GET", "/portal/{token}/logo", portalLink, never, (*api).portalLogo},
		{"GET", "/portal/{token}/connect", portalLink, never, (*api).connect},
		{"POST", "/portal/{token}/connect/code", portalLink, never, (*api).pairByBody},
		{"GET", "/portal/{token}/connect/passkey/script", portalLink, never, (*api).passkeyScript},
		{"POST", "/portal/{token}/connect/passkey/assertion", portalLink, never, (*api).passkeyAssertion},
		{"POST", "/portal/{token}/connect/passkey/confirm", portalLink, never, (*api).confirmPasskey},
		{"DELETE", "/portal/{token}/connect", portalLink, never, (*api).giveUpPairing},
		{"GET", "/instance/{i}/qr.png", instanceBearer, scopePair, (*api).showCode},
		{"GET", "/instance/{i}/connection/status", instanceBearer, scopeRead | scopePair, (*api).connectionStatus},
		{"DELETE", "/instance/{i}/logout", instanceBearer, scopeManage, audited("instance.logout", (*api).logout)},
		{"POST", "/instance/{i}/restart", instanceBearer, scopeManage, (*api).restart},
		{"POST", "/instance/{i}/app-state/reset", instanceBearer, scopeManage, (*api).resetAppState},

		{"PUT", "/instance/{i}/limits", instanceBearer, scopeManage, audited("limits.change", (*api).putLimits)},
		{"GET", "/instance/{i}/limits", instanceBearer, scopeRead | scopeManage, (*api).showLimits},

		{"PUT", "/instance/{i}/webhook", instanceBearer, scopeWebhook, audited(actionWebhook, (*api).putWebhook)},
		{"GET", "/instance/{i}/webhook", instanceBearer, scopeWebhook, (*api).showWebhook},
		{"POST", "/instance/{i}/webhook/test", instanceBearer, scopeWebhook, (*api).tryWebhook},
		{"PUT", "/instance/{i}/webhook/options", instanceBearer, scopeWebhook, audited(actionOptions, (*api).putOptions)},
		{"GET", "/instance/{i}/webhook/options", instanceBearer, scopeWebhook, (*api).showOptions},
		{"DELETE", "/instance/{i}/webhook/options", instanceBearer, scopeWebhook, audited("webhook.options.delete", (*api).dropOptions)},
		{"POST", "/instance/{i}/webhook/options/rotate-secret", instanceBearer, scopeWebhook, audited("webhook.secret.rotate", (*api).rotateSecret)},

		{"PUT", "/webhook/options", globalKey, never, audited(actionOptions, (*api).putGlobalOptions)},
		{"GET", "/webhook/options", globalKey, never, (*api).showGlobalOptions},
		{"DELETE", "/webhook/options", globalKey, never, audited("webhook.options.delete", (*api).dropGlobalOptions)},
		{"POST", "/webhook/options/rotate-secret", globalKey, never, audited("webhook.secret.rotate", (*api).rotateGlobalSecret)},

		{"GET", "/instance/{i}/webhook/deliveries", instanceBearer, scopeDeliveries, (*api).listDeliveries},
		{"GET", "/instance/{i}/webhook/deliveries/{id}", instanceBearer, scopeDeliveries, (*api).showDelivery},
		{"POST", "/instance/{i}/webhook/deliveries/{id}/retry", instanceBearer, scopeDeliveries, (*api).retryDelivery},
		{"POST", "/instance/{i}/webhook/deliveries/replay", instanceBearer, scopeDeliveries, once((*api).replayDeliveries)},
		{"GET", "/instance/{i}/webhook/replays/{id}", instanceBearer, scopeDeliveries, (*api).showReplay},
		{"DELETE", "/instance/{i}/webhook/replays/{id}", instanceBearer, scopeDeliveries, (*api).cancelReplay},

		{"PUT", "/instance/{i}/settings", instanceBearer, scopeManage, audited("settings.change", (*api).putSettings)},
		{"GET", "/instance/{i}/settings", instanceBearer, scopeRead | scopeManage, (*api).showSettings},

		{"PUT", "/instance/{i}/proxy", instanceBearer, scopeManage, audited("proxy.change", (*api).putProxy)},
		{"GET", "/instance/{i}/proxy", instanceBearer, scopeManage, (*api).showProxy},
		{"DELETE", "/instance/{i}/proxy", instanceBearer, scopeManage, audited("proxy.delete", (*api).deleteProxy)},
		{"POST", "/instance/{i}/proxy/test", instanceBearer, scopeManage, (*api).tryProxy},

		{"POST", "/instance/{i}/send/text", instanceBearer, scopeSendTo, once(send[sendTextRequest])},
		{"POST", "/instance/{i}/send/link", instanceBearer, scopeSendTo, once(send[sendLinkRequest])},
		{"POST", "/instance/{i}/send/media", instanceBearer, scopeSendTo, once(send[sendMediaRequest])},
		{"POST", "/instance/{i}/send/media-file", instanceBearer, scopeSendTo, once((*api).sendMediaFile)},
		{"POST", "/instance/{i}/send/ptt", instanceBearer, scopeSendTo, once(send[sendVoiceRequest])},
		{"POST", "/instance/{i}/send/ptt-file", instanceBearer, scopeSendTo, once((*api).sendVoiceFile)},
		{"POST", "/instance/{i}/send/contact", instanceBearer, scopeSendTo, once(send[sendContactRequest])},
		{"POST", "/instance/{i}/send/location", instanceBearer, scopeSendTo, once(send[sendLocationRequest])},
		{"POST", "/instance/{i}/send/reaction", instanceBearer, scopeSendTo, once(send[sendReactionRequest])},
		{"POST", "/instance/{i}/send/sticker", instanceBearer, scopeSendTo, once(send[sendStickerRequest])},
		{"POST", "/instance/{i}/send/sticker-file", instanceBearer, scopeSendTo, once((*api).sendStickerFile)},
		{"POST", "/instance/{i}/send/poll", instanceBearer, scopeSendTo, once(send[sendPollRequest])},
		{"POST", "/instance/{i}/send/forward", instanceBearer, scopeSendTo, once((*api).sendForward)},
		{"POST", "/instance/{i}/send/status", instanceBearer, scopeSend, once((*api).sendStatus)},
		{"POST", "/instance/{i}/notify", instanceBearer, scopeSendTo, once((*api).notify)},

		{"POST", "/instance/{i}/chat/is-account", instanceBearer, scopeSendTo, chatOperation((*numbersRequest).check, lookUpNumbers)},
		{"POST", "/instance/{i}/chat/read-message", instanceBearer, scopeSendTo, (*api).readMessages},
		{"PUT", "/instance/{i}/chat/read-message", instanceBearer, scopeSendTo, (*api).readMessages},
		{"PATCH", "/instance/{i}/chat/read-message", instanceBearer, scopeSendTo, (*api).readMessages},
		{"POST", "/instance/{i}/chat/archive", instanceBearer, scopeSend, quietOperation((*archiveRequest).check, archiveChat)},
		{"PUT", "/instance/{i}/chat/archive", instanceBearer, scopeSend, quietOperation((*archiveRequest).check, archiveChat)},
		{"POST", "/instance/{i}/chat/pin", instanceBearer, scopeSend, chatOperation((*pinRequest).check, pinChat)},
		{"POST", "/instance/{i}/chat/mute", instanceBearer, scopeSend, chatOperation((*muteRequest).check, muteChat)},
		{"POST", "/instance/{i}/chat/star", instanceBearer, scopeSend, (*api).starMessage},
		{"POST", "/instance/{i}/chat/block", instanceBearer, scopeSend, chatOperation((*blockRequest).check, blockPerson)},
		{"GET", "/instance/{i}/chat/blocked", instanceBearer, scopeRead, (*api).listBlocked},
		{"POST", "/instance/{i}/chat/edit-message", instanceBearer, scopeSendTo, once((*api).editMessage)},
		{"DELETE", "/instance/{i}/chat/delete-message", instanceBearer, scopeSendTo, once((*api).deleteMessage)},
		{"POST", "/instance/{i}/chat/profile-picture", instanceBearer, scopeRead, chatOperation((*profilePictureRequest).check, showPicture)},
		{"POST", "/instance/{i}/chat/history", instanceBearer, scopeRead, (*api).askHistory},
		{"POST", "/instance/{i}/chat/reject-call", instanceBearer, scopeSend, quietOperation((*rejectRequest).check, rejectCall)},
		{"POST", "/instance/{i}/chat/presence", instanceBearer, scopeSendTo, chatOperation((*presenceRequest).check, showPresence)},

		{"POST", "/instance/{i}/media/data", instanceBearer, scopeMedia, (*api).mediaData},

		{"POST", "/instance/{i}/media/uploads", instanceBearer, scopeMedia, (*api).createUpload},
		{"GET", "/instance/{i}/media/uploads", instanceBearer, scopeMedia, (*api).listUploads},
		{"GET", "/instance/{i}/upload/{id}", instanceBearer, scopeMedia, (*api).showUpload},
		{"DELETE", "/instance/{i}/upload/{id}", instanceBearer, scopeMedia, (*api).deleteUpload},

		{"POST", "/instance/{i}/db/messages", instanceBearer, scopeRead, (*api).listMessages},
		{"POST", "/instance/{i}/db/messages/pages", instanceBearer, scopeRead, (*api).findMessages},
		{"GET", "/instance/{i}/contacts", instanceBearer, scopeRead, (*api).listContacts},
		{"GET", "/instance/{i}/chats", instanceBearer, scopeRead, (*api).listChats},
		{"GET", "/instance/{i}/chats/{jid}/messages", instanceBearer, scopeRead, (*api).searchChat},

		{"POST", "/instance/{i}/group", instanceBearer, scopeSend, once((*api).createGroup)},
		{"GET", "/instance/{i}/group", instanceBearer, scopeRead, (*api).showGroup},
		{"GET", "/instance/{i}/groups", instanceBearer, scopeRead, (*api).listGroups},
		{"PUT", "/instance/{i}/group/update-picture", instanceBearer, scopeSend, (*api).changePicture},
		{"PUT", "/instance/{i}/group/update-participants", instanceBearer, scopeSend, (*api).changeMembers},
		{"PUT", "/instance/{i}/group/subject", instanceBearer, scopeSend, (*api).changeSubject},
		{"PUT", "/instance/{i}/group/description", instanceBearer, scopeSend, (*api).changeDescription},
		{"PUT", "/instance/{i}/group/settings", instanceBearer, scopeSend, (*api).changeSettings},
		{"GET", "/instance/{i}/group/invitation-code", instanceBearer, scopeRead, (*api).showInvite},
		{"PUT", "/instance/{i}/group/revoke-invitation", instanceBearer, scopeSend, (*api).revokeInvite},
		{"GET", "/instance/{i}/group/invitation", instanceBearer, scopeRead, (*api).showInvited},
		{"POST", "/instance/{i}/group/join", instanceBearer, scopeSend, (*api).joinGroup},
		{"GET", "/instance/{i}/group/join-requests", instanceBearer, scopeRead, (*api).listJoinRequests},
		{"PUT", "/instance/{i}/group/join-requests", instanceBearer, scopeSend, (*api).decideJoinRequests},
		{"DELETE", "/instance/{i}/group/leave", instanceBearer, scopeSend, (*api).leaveGroup},

		{"GET", "/instance/{i}/newsletters", instanceBearer, scopeRead, (*api).listChannels},
		{"GET", "/instance/{i}/newsletter", instanceBearer, scopeRead, (*api).showChannel},
		{"POST", "/instance/{i}/newsletter/follow", instanceBearer, scopeSend, (*api).followChannel},
		{"POST", "/instance/{i}/newsletter/unfollow", instanceBearer, scopeSend, (*api).unfollowChannel},
		{"POST", "/instance/{i}/newsletter/mute", instanceBearer, scopeSend, (*api).muteChannel},
		{"POST", "/instance/{i}/newsletter/unmute", instanceBearer, scopeSend, (*api).unmuteChannel},

		{"GET", "/instance/{i}/labels", instanceBearer, scopeRead, (*api).listLabels},
		{"POST", "/instance/{i}/label", instanceBearer, scopeSend, once((*api).createLabel)},
		{"PUT", "/instance/{i}/label", instanceBearer, scopeSend, (*api).editLabel},
		{"DELETE", "/instance/{i}/label", instanceBearer, scopeSend, (*api).deleteLabel},
		{"POST", "/instance/{i}/label/assign", instanceBearer, scopeSend, (*api).assignLabel},
		{"POST", "/instance/{i}/label/unassign", instanceBearer, scopeSend, (*api).unassignLabel},

		{"POST", "/message/batches", userBearer, scopeBatch, once((*api).createBatch)},
		{"GET", "/message/batches", userBearer, scopeBatch, (*api).listBatchesByQuery},
		{"POST", "/message/batches/list", userBearer, scopeBatch, (*api).listBatchesByBody},
		{"GET", "/message/batches/{id}", userBearer, scopeBatch, (*api).showBatch},
		{"DELETE", "/message/batches/{id}", userBearer, scopeBatch, (*api).deleteBatch},
		{"GET", "/message/batches/{id}/items", userBearer, scopeBatch, (*api).listItems},
		{"GET", "/message/batches/{id}/items/{item}", userBearer, scopeBatch, (*api).showItem},
		{"GET", "/message/batches/{id}/attempts", userBearer, scopeBatch, (*api).listAttempts},
		{"GET", "/message/batches/{id}/processing", userBearer, scopeBatch, (*api).showProcessing},
		{"POST", "/message/batches/{id}/start", userBearer, scopeBatch, (*api).startBatch},
		{"POST", "/message/batches/{id}/pause", userBearer, scopeBatch, (*api).pauseBatch},
		{"POST", "/message/batches/{id}/stop", userBearer, scopeBatch, (*api).stopBatch},

		{"GET", "/admin/batches", globalKey, never, (*api).listAllBatches},
		{"POST", "/admin/batches/{id}/pause", globalKey, never, (*api).pauseAnyBatch},
		{"POST", "/admin/batches/{id}/stop", globalKey, never, (*api).stopAnyBatch},

		{"POST", "/admin/backup", globalKey, never, audited("backup.create", (*api).makeBackup)},
		{"POST", "/admin/import", globalKey, never, audited("instance.import", (*api).importInstance)},
		{"POST", "/admin/check", globalKey, never, (*api).checkData},
		{"POST", "/admin/proxies/test", globalKey, never, (*api).tryProxies},
		{"GET", "/admin/log", globalKey, never, (*api).showLog},
		{"PUT", "/admin/log", globalKey, never, audited("log.change", (*api).putLog)},
		{"DELETE", "/admin/log", globalKey, never, audited("log.reset", (*api).resetLog)},
		{"GET", "/admin/log/lines", globalKey, never, (*api).showLogLines},
		{"GET", "/admin/config", globalKey, never, (*api).showConfig},
		{"GET", "/admin/support", globalKey, never, (*api).makeSupport},
		{"GET", "/admin/stats", globalKey, never, (*api).showStats},
		{"GET", "/admin/samples", globalKey, never, (*api).listSamples},
		{"GET", "/admin/profile/heap", globalKey, never, (*api).profileMemory},
		{"GET", "/admin/profile/goroutine", globalKey, never, (*api).profileGoroutines},
		{"GET", "/admin/profile/cpu", globalKey, never, (*api).profileProcessor},

		{"GET", "/message/batches/{id}/events", userBearer, scopeBatch, (*api).listEvents},
		{"GET", "/outbox", globalKey, never, (*api).listOutbox},
		{"POST", "/outbox/retry", globalKey, never, (*api).retryOutbox},
		{"POST", "/outbox/{id}/retry", globalKey, never, (*api).retryEntry},

		{"GET", "/webhook/deliveries", globalKey, scopeDeliveries | everywhere, (*api).listDeliveries},
		{"GET", "/webhook/deliveries/{id}", globalKey, scopeDeliveries | everywhere, (*api).showDelivery},
		{"POST", "/webhook/deliveries/{id}/retry", globalKey, scopeDeliveries | everywhere, (*api).retryDelivery},
		{"POST", "/webhook/deliveries/replay", globalKey, scopeDeliveries | everywhere, once((*api).replayDeliveries)},
		{"GET", "/webhook/replays/{id}", globalKey, scopeDeliveries | everywhere, (*api).showReplay},
		{"DELETE", "/webhook/replays/{id}", globalKey, scopeDeliveries | everywhere, (*api).cancelReplay},

		{"GET", "/ws/global/events", handshake, scopeBatch, (*api).globalEvents},
		{"GET", "/ws/instance/events", handshake, scopeRead, (*api).instanceEvents},
		{"GET", "/ws/console", anyKey, scopeRead, (*api).openConsole},
	}
}
