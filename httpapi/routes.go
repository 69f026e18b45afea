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
	handle handler
	check  func(*call) error // of a scoped key on a userBearer route; nil: none
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
func routes() []route { return (*api)(nil).routes() }

func (a *api) routes() []route {
	return []route{
		{method: "GET", path: "/health", auth: public, right: never, handle: a.health},
		{method: "GET", path: "/ready", auth: public, right: never, handle: a.ready},

		{method: "POST", path: "/keys", auth: globalKey, right: never, handle: audited("key.create", a.createKey)},
		{method: "GET", path: "/keys", auth: globalKey, right: never, handle: a.listKeys},
		{method: "GET", path: "/keys/{id}", auth: globalKey, right: never, handle: a.showKey},
		{method: "PATCH", path: "/keys/{id}", auth: globalKey, right: never, handle: audited("key.change", a.changeKey)},
		{method: "DELETE", path: "/keys/{id}", auth: globalKey, right: never, handle: audited("key.delete", a.deleteKey)},
		{method: "GET", path: "/audit", auth: globalKey, right: never, handle: a.listAudit},

		{method: "POST", path: "/session", auth: signIn, right: anyScope, handle: a.fewSignIns(audited("session.create", a.beginSession))},
		{method: "GET", path: "/session", auth: anyKey, right: anyScope, handle: a.showSession},
		{method: "POST", path: "/session/calls", auth: anyKey, right: anyScope, handle: a.noteCall},
		{method: "DELETE", path: "/session", auth: anyKey, right: anyScope, handle: a.endSession},

		{method: "POST", path: "/auth/user-token", auth: globalKey, right: never, handle: audited("token.create", a.issueUserToken)},

		{method: "POST", path: "/instance", auth: globalKey, right: scopeManage | everywhere, handle: audited("instance.create", a.createInstance)},
		{method: "GET", path: "/instance", auth: globalKey, right: scopeRead, handle: a.listInstances},
		{method: "GET", path: "/instance/{i}", auth: instanceBearer, right: scopeRead, handle: a.showInstance},
		{method: "DELETE", path: "/instance/{i}", auth: instanceBearer, right: scopeManage, handle: audited("instance.delete", a.deleteInstance)},
		{method: "PUT", path: "/instance/{i}/refreshToken", auth: instanceBearer, right: never, handle: audited("token.refresh", a.refreshToken)},
		{method: "PUT", path: "/instance/{i}/token", auth: globalKey, right: never, handle: audited("token.create", a.issueInstanceToken)},
		{method: "POST", path: "/instance/{i}/export", auth: globalKey, right: never, handle: audited("instance.export", a.exportInstance)},
		{method: "DELETE", path: "/instance/{i}/export", auth: globalKey, right: never, handle: audited("instance.export.undo", a.undoExport)},

		{method: "GET", path: "/instance/{i}/connect", auth: instanceBearer, right: scopePair, handle: a.connect},
		{method: "POST", path: "/instance/{i}/connect", auth: instanceBearer, right: scopePair, handle: a.connect},
		{method: "GET", path: "/instance/{i}/connect/code/{phone}", auth: instanceBearer, right: scopePair, handle: a.pairByPath},
		{method: "POST", path: "/instance/{i}/connect/code", auth: instanceBearer, right: scopePair, handle: a.pairByBody},
		{method: "POST", path: "/instance/{i}/connect/passkey/challenge", auth: instanceBearer, right: scopePair, handle: a.passkeyChallenge},
		{method: "GET", path: "/instance/{i}/connect/passkey/script", auth: instanceBearer, right: scopePair, handle: a.passkeyScript},
		{method: "POST", path: "/instance/{i}/connect/passkey/assertion", auth: instanceBearer, right: scopePair, handle: a.passkeyAssertion},
		{method: "POST", path: "/instance/{i}/connect/passkey/confirm", auth: instanceBearer, right: scopePair, handle: a.confirmPasskey},
		{method: "POST", path: "/instance/{i}/portal-link", auth: instanceBearer, right: scopePair, handle: audited("portal.create", a.makePortalLink)},
		{method: "GET", path: "/portal/{token}", auth: public, right: never, handle: a.portalPage},
		{method: "GET", path: "/portal/{token}/state", auth: portalLink, right: never, handle: a.showPortal},
		{method: "GET", path: "/portal/{token}/logo", auth: portalLink, right: never, handle: a.portalLogo},
		{method: "GET", path: "/portal/{token}/connect", auth: portalLink, right: never, handle: a.connect},
		{method: "POST", path: "/portal/{token}/connect/code", auth: portalLink, right: never, handle: a.pairByBody},
		{method: "GET", path: "/portal/{token}/connect/passkey/script", auth: portalLink, right: never, handle: a.passkeyScript},
		{method: "POST", path: "/portal/{token}/connect/passkey/assertion", auth: portalLink, right: never, handle: a.passkeyAssertion},
		{method: "POST", path: "/portal/{token}/connect/passkey/confirm", auth: portalLink, right: never, handle: a.confirmPasskey},
		{method: "DELETE", path: "/portal/{token}/connect", auth: portalLink, right: never, handle: a.giveUpPairing},
		{method: "GET", path: "/instance/{i}/qr.png", auth: instanceBearer, right: scopePair, handle: a.showCode},
		{method: "GET", path: "/instance/{i}/connection/status", auth: instanceBearer, right: scopeRead | scopePair, handle: a.connectionStatus},
		{method: "DELETE", path: "/instance/{i}/logout", auth: instanceBearer, right: scopeManage, handle: audited("instance.logout", a.logout)},
		{method: "POST", path: "/instance/{i}/restart", auth: instanceBearer, right: scopeManage, handle: a.restart},
		{method: "POST", path: "/instance/{i}/app-state/reset", auth: instanceBearer, right: scopeManage, handle: a.resetAppState},

		{method: "PUT", path: "/instance/{i}/limits", auth: instanceBearer, right: scopeManage, handle: audited("limits.change", a.putLimits)},
		{method: "GET", path: "/instance/{i}/limits", auth: instanceBearer, right: scopeRead | scopeManage, handle: a.showLimits},

		{method: "PUT", path: "/instance/{i}/webhook", auth: instanceBearer, right: scopeWebhook, handle: audited(actionWebhook, a.putWebhook)},
		{method: "GET", path: "/instance/{i}/webhook", auth: instanceBearer, right: scopeWebhook, handle: a.showWebhook},
		{method: "POST", path: "/instance/{i}/webhook/test", auth: instanceBearer, right: scopeWebhook, handle: a.tryWebhook},
		{method: "PUT", path: "/instance/{i}/webhook/options", auth: instanceBearer, right: scopeWebhook, handle: audited(actionOptions, a.putOptions)},
		{method: "GET", path: "/instance/{i}/webhook/options", auth: instanceBearer, right: scopeWebhook, handle: a.showOptions},
		{method: "DELETE", path: "/instance/{i}/webhook/options", auth: instanceBearer, right: scopeWebhook, handle: audited("webhook.options.delete", a.dropOptions)},
		{method: "POST", path: "/instance/{i}/webhook/options/rotate-secret", auth: instanceBearer, right: scopeWebhook, handle: audited("webhook.secret.rotate", a.rotateSecret)},

		{method: "PUT", path: "/webhook/options", auth: globalKey, right: never, handle: audited(actionOptions, a.putGlobalOptions)},
		{method: "GET", path: "/webhook/options", auth: globalKey, right: never, handle: a.showGlobalOptions},
		{method: "DELETE", path: "/webhook/options", auth: globalKey, right: never, handle: audited("webhook.options.delete", a.dropGlobalOptions)},
		{method: "POST", path: "/webhook/options/rotate-secret", auth: globalKey, right: never, handle: audited("webhook.secret.rotate", a.rotateGlobalSecret)},

		{method: "GET", path: "/instance/{i}/webhook/deliveries", auth: instanceBearer, right: scopeDeliveries, handle: a.listDeliveries},
		{method: "GET", path: "/instance/{i}/webhook/deliveries/{id}", auth: instanceBearer, right: scopeDeliveries, handle: a.showDelivery},
		{method: "POST", path: "/instance/{i}/webhook/deliveries/{id}/retry", auth: instanceBearer, right: scopeDeliveries, handle: a.retryDelivery},
		{method: "POST", path: "/instance/{i}/webhook/deliveries/replay", auth: instanceBearer, right: scopeDeliveries, handle: once(a.replayDeliveries)},
		{method: "GET", path: "/instance/{i}/webhook/replays/{id}", auth: instanceBearer, right: scopeDeliveries, handle: a.showReplay},
		{method: "DELETE", path: "/instance/{i}/webhook/replays/{id}", auth: instanceBearer, right: scopeDeliveries, handle: a.cancelReplay},

		{method: "PUT", path: "/instance/{i}/settings", auth: instanceBearer, right: scopeManage, handle: audited("settings.change", a.putSettings)},
		{method: "GET", path: "/instance/{i}/settings", auth: instanceBearer, right: scopeRead | scopeManage, handle: a.showSettings},

		{method: "PUT", path: "/instance/{i}/proxy", auth: instanceBearer, right: scopeManage, handle: audited("proxy.change", a.putProxy)},
		{method: "GET", path: "/instance/{i}/proxy", auth: instanceBearer, right: scopeManage, handle: a.showProxy},
		{method: "DELETE", path: "/instance/{i}/proxy", auth: instanceBearer, right: scopeManage, handle: audited("proxy.delete", a.deleteProxy)},
		{method: "POST", path: "/instance/{i}/proxy/test", auth: instanceBearer, right: scopeManage, handle: a.tryProxy},

		{method: "POST", path: "/instance/{i}/send/text", auth: instanceBearer, right: scopeSendTo, handle: once(send[sendTextRequest](a))},
		{method: "POST", path: "/instance/{i}/send/link", auth: instanceBearer, right: scopeSendTo, handle: once(send[sendLinkRequest](a))},
		{method: "POST", path: "/instance/{i}/send/media", auth: instanceBearer, right: scopeSendTo, handle: once(send[sendMediaRequest](a))},
		{method: "POST", path: "/instance/{i}/send/media-file", auth: instanceBearer, right: scopeSendTo, handle: once(a.sendMediaFile)},
		{method: "POST", path: "/instance/{i}/send/ptt", auth: instanceBearer, right: scopeSendTo, handle: once(send[sendVoiceRequest](a))},
		{method: "POST", path: "/instance/{i}/send/ptt-file", auth: instanceBearer, right: scopeSendTo, handle: once(a.sendVoiceFile)},
		{method: "POST", path: "/instance/{i}/send/contact", auth: instanceBearer, right: scopeSendTo, handle: once(send[sendContactRequest](a))},
		{method: "POST", path: "/instance/{i}/send/location", auth: instanceBearer, right: scopeSendTo, handle: once(send[sendLocationRequest](a))},
		{method: "POST", path: "/instance/{i}/send/reaction", auth: instanceBearer, right: scopeSendTo, handle: once(send[sendReactionRequest](a))},
		{method: "POST", path: "/instance/{i}/send/sticker", auth: instanceBearer, right: scopeSendTo, handle: once(send[sendStickerRequest](a))},
		{method: "POST", path: "/instance/{i}/send/sticker-file", auth: instanceBearer, right: scopeSendTo, handle: once(a.sendStickerFile)},
		{method: "POST", path: "/instance/{i}/send/poll", auth: instanceBearer, right: scopeSendTo, handle: once(send[sendPollRequest](a))},
		{method: "POST", path: "/instance/{i}/send/forward", auth: instanceBearer, right: scopeSendTo, handle: once(a.sendForward)},
		{method: "POST", path: "/instance/{i}/send/status", auth: instanceBearer, right: scopeSend, handle: once(a.sendStatus)},
		{method: "POST", path: "/instance/{i}/notify", auth: instanceBearer, right: scopeSendTo, handle: once(a.notify)},

		{method: "POST", path: "/instance/{i}/chat/is-account", auth: instanceBearer, right: scopeSendTo, handle: chatOperation(a, (*numbersRequest).check, lookUpNumbers)},
		{method: "POST", path: "/instance/{i}/chat/read-message", auth: instanceBearer, right: scopeSendTo, handle: a.readMessages},
		{method: "PUT", path: "/instance/{i}/chat/read-message", auth: instanceBearer, right: scopeSendTo, handle: a.readMessages},
		{method: "PATCH", path: "/instance/{i}/chat/read-message", auth: instanceBearer, right: scopeSendTo, handle: a.readMessages},
		{method: "POST", path: "/instance/{i}/chat/archive", auth: instanceBearer, right: scopeSend, handle: quietOperation(a, (*archiveRequest).check, archiveChat)},
		{method: "PUT", path: "/instance/{i}/chat/archive", auth: instanceBearer, right: scopeSend, handle: quietOperation(a, (*archiveRequest).check, archiveChat)},
		{method: "POST", path: "/instance/{i}/chat/pin", auth: instanceBearer, right: scopeSend, handle: chatOperation(a, (*pinRequest).check, pinChat)},
		{method: "POST", path: "/instance/{i}/chat/mute", auth: instanceBearer, right: scopeSend, handle: chatOperation(a, (*muteRequest).check, muteChat)},
		{method: "POST", path: "/instance/{i}/chat/star", auth: instanceBearer, right: scopeSend, handle: a.starMessage},
		{method: "POST", path: "/instance/{i}/chat/block", auth: instanceBearer, right: scopeSend, handle: chatOperation(a, (*blockRequest).check, blockPerson)},
		{method: "GET", path: "/instance/{i}/chat/blocked", auth: instanceBearer, right: scopeRead, handle: a.listBlocked},
		{method: "POST", path: "/instance/{i}/chat/edit-message", auth: instanceBearer, right: scopeSendTo, handle: once(a.editMessage)},
		{method: "DELETE", path: "/instance/{i}/chat/delete-message", auth: instanceBearer, right: scopeSendTo, handle: once(a.deleteMessage)},
		{method: "POST", path: "/instance/{i}/chat/profile-picture", auth: instanceBearer, right: scopeRead, handle: chatOperation(a, (*profilePictureRequest).check, showPicture)},
		{method: "POST", path: "/instance/{i}/chat/history", auth: instanceBearer, right: scopeRead, handle: a.askHistory},
		{method: "POST", path: "/instance/{i}/chat/reject-call", auth: instanceBearer, right: scopeSend, handle: quietOperation(a, (*rejectRequest).check, rejectCall)},
		{method: "POST", path: "/instance/{i}/chat/presence", auth: instanceBearer, right: scopeSendTo, handle: chatOperation(a, (*presenceRequest).check, showPresence)},

		{method: "POST", path: "/instance/{i}/media/data", auth: instanceBearer, right: scopeMedia, handle: a.mediaData},

		{method: "POST", path: "/instance/{i}/media/uploads", auth: instanceBearer, right: scopeMedia, handle: a.createUpload},
		{method: "GET", path: "/instance/{i}/media/uploads", auth: instanceBearer, right: scopeMedia, handle: a.listUploads},
		{method: "GET", path: "/instance/{i}/upload/{id}", auth: instanceBearer, right: scopeMedia, handle: a.showUpload},
		{method: "DELETE", path: "/instance/{i}/upload/{id}", auth: instanceBearer, right: scopeMedia, handle: a.deleteUpload},

		{method: "POST", path: "/instance/{i}/db/messages", auth: instanceBearer, right: scopeRead, handle: a.listMessages},
		{method: "POST", path: "/instance/{i}/db/messages/pages", auth: instanceBearer, right: scopeRead, handle: a.findMessages},
		{method: "GET", path: "/instance/{i}/contacts", auth: instanceBearer, right: scopeRead, handle: a.listContacts},
		{method: "GET", path: "/instance/{i}/chats", auth: instanceBearer, right: scopeRead, handle: a.listChats},
		{method: "GET", path: "/instance/{i}/chats/{jid}/messages", auth: instanceBearer, right: scopeRead, handle: a.searchChat},

		{method: "POST", path: "/instance/{i}/group", auth: instanceBearer, right: scopeSend, handle: once(a.createGroup)},
		{method: "GET", path: "/instance/{i}/group", auth: instanceBearer, right: scopeRead, handle: a.showGroup},
		{method: "GET", path: "/instance/{i}/groups", auth: instanceBearer, right: scopeRead, handle: a.listGroups},
		{method: "PUT", path: "/instance/{i}/group/update-picture", auth: instanceBearer, right: scopeSend, handle: a.changePicture},
		{method: "PUT", path: "/instance/{i}/group/update-participants", auth: instanceBearer, right: scopeSend, handle: a.changeMembers},
		{method: "PUT", path: "/instance/{i}/group/subject", auth: instanceBearer, right: scopeSend, handle: a.changeSubject},
		{method: "PUT", path: "/instance/{i}/group/description", auth: instanceBearer, right: scopeSend, handle: a.changeDescription},
		{method: "PUT", path: "/instance/{i}/group/settings", auth: instanceBearer, right: scopeSend, handle: a.changeSettings},
		{method: "GET", path: "/instance/{i}/group/invitation-code", auth: instanceBearer, right: scopeRead, handle: a.showInvite},
		{method: "PUT", path: "/instance/{i}/group/revoke-invitation", auth: instanceBearer, right: scopeSend, handle: a.revokeInvite},
		{method: "GET", path: "/instance/{i}/group/invitation", auth: instanceBearer, right: scopeRead, handle: a.showInvited},
		{method: "POST", path: "/instance/{i}/group/join", auth: instanceBearer, right: scopeSend, handle: a.joinGroup},
		{method: "GET", path: "/instance/{i}/group/join-requests", auth: instanceBearer, right: scopeRead, handle: a.listJoinRequests},
		{method: "PUT", path: "/instance/{i}/group/join-requests", auth: instanceBearer, right: scopeSend, handle: a.decideJoinRequests},
		{method: "DELETE", path: "/instance/{i}/group/leave", auth: instanceBearer, right: scopeSend, handle: a.leaveGroup},

		{method: "GET", path: "/instance/{i}/newsletters", auth: instanceBearer, right: scopeRead, handle: a.listChannels},
		{method: "GET", path: "/instance/{i}/newsletter", auth: instanceBearer, right: scopeRead, handle: a.showChannel},
		{method: "POST", path: "/instance/{i}/newsletter/follow", auth: instanceBearer, right: scopeSend, handle: a.followChannel},
		{method: "POST", path: "/instance/{i}/newsletter/unfollow", auth: instanceBearer, right: scopeSend, handle: a.unfollowChannel},
		{method: "POST", path: "/instance/{i}/newsletter/mute", auth: instanceBearer, right: scopeSend, handle: a.muteChannel},
		{method: "POST", path: "/instance/{i}/newsletter/unmute", auth: instanceBearer, right: scopeSend, handle: a.unmuteChannel},

		{method: "GET", path: "/instance/{i}/labels", auth: instanceBearer, right: scopeRead, handle: a.listLabels},
		{method: "POST", path: "/instance/{i}/label", auth: instanceBearer, right: scopeSend, handle: once(a.createLabel)},
		{method: "PUT", path: "/instance/{i}/label", auth: instanceBearer, right: scopeSend, handle: a.editLabel},
		{method: "DELETE", path: "/instance/{i}/label", auth: instanceBearer, right: scopeSend, handle: a.deleteLabel},
		{method: "POST", path: "/instance/{i}/label/assign", auth: instanceBearer, right: scopeSend, handle: a.assignLabel},
		{method: "POST", path: "/instance/{i}/label/unassign", auth: instanceBearer, right: scopeSend, handle: a.unassignLabel},

		{method: "POST", path: "/message/batches", auth: userBearer, right: scopeBatch, check: a.keyBatch, handle: once(a.createBatch)},
		{method: "GET", path: "/message/batches", auth: userBearer, right: scopeBatch, check: a.keyBatch, handle: a.listBatchesByQuery},
		{method: "POST", path: "/message/batches/list", auth: userBearer, right: scopeBatch, check: a.keyBatch, handle: a.listBatchesByBody},
		{method: "GET", path: "/message/batches/{id}", auth: userBearer, right: scopeBatch, check: a.keyBatch, handle: a.showBatch},
		{method: "DELETE", path: "/message/batches/{id}", auth: userBearer, right: scopeBatch, check: a.keyBatch, handle: a.deleteBatch},
		{method: "GET", path: "/message/batches/{id}/items", auth: userBearer, right: scopeBatch, check: a.keyBatch, handle: a.listItems},
		{method: "GET", path: "/message/batches/{id}/items/{item}", auth: userBearer, right: scopeBatch, check: a.keyBatch, handle: a.showItem},
		{method: "GET", path: "/message/batches/{id}/attempts", auth: userBearer, right: scopeBatch, check: a.keyBatch, handle: a.listAttempts},
		{method: "GET", path: "/message/batches/{id}/processing", auth: userBearer, right: scopeBatch, check: a.keyBatch, handle: a.showProcessing},
		{method: "POST", path: "/message/batches/{id}/start", auth: userBearer, right: scopeBatch, check: a.keyBatch, handle: a.startBatch},
		{method: "POST", path: "/message/batches/{id}/pause", auth: userBearer, right: scopeBatch, check: a.keyBatch, handle: a.pauseBatch},
		{method: "POST", path: "/message/batches/{id}/stop", auth: userBearer, right: scopeBatch, check: a.keyBatch, handle: a.stopBatch},

		{method: "GET", path: "/admin/batches", auth: globalKey, right: never, handle: a.listAllBatches},
		{method: "POST", path: "/admin/batches/{id}/pause", auth: globalKey, right: never, handle: a.pauseAnyBatch},
		{method: "POST", path: "/admin/batches/{id}/stop", auth: globalKey, right: never, handle: a.stopAnyBatch},

		{method: "POST", path: "/admin/backup", auth: globalKey, right: never, handle: audited("backup.create", a.makeBackup)},
		{method: "POST", path: "/admin/import", auth: globalKey, right: never, handle: audited("instance.import", a.importInstance)},
		{method: "POST", path: "/admin/check", auth: globalKey, right: never, handle: a.checkData},
		{method: "POST", path: "/admin/proxies/test", auth: globalKey, right: never, handle: a.tryProxies},
		{method: "GET", path: "/admin/log", auth: globalKey, right: never, handle: a.showLog},
		{method: "PUT", path: "/admin/log", auth: globalKey, right: never, handle: audited("log.change", a.putLog)},
		{method: "DELETE", path: "/admin/log", auth: globalKey, right: never, handle: audited("log.reset", a.resetLog)},
		{method: "GET", path: "/admin/log/lines", auth: globalKey, right: never, handle: a.showLogLines},
		{method: "GET", path: "/admin/config", auth: globalKey, right: never, handle: a.showConfig},
		{method: "GET", path: "/admin/support", auth: globalKey, right: never, handle: a.makeSupport},
		{method: "GET", path: "/admin/stats", auth: globalKey, right: never, handle: a.showStats},
		{method: "GET", path: "/admin/samples", auth: globalKey, right: never, handle: a.listSamples},
		{method: "GET", path: "/admin/profile/heap", auth: globalKey, right: never, handle: a.profileMemory},
		{method: "GET", path: "/admin/profile/goroutine", auth: globalKey, right: never, handle: a.profileGoroutines},
		{method: "GET", path: "/admin/profile/cpu", auth: globalKey, right: never, handle: a.profileProcessor},

		{method: "GET", path: "/message/batches/{id}/events", auth: userBearer, right: scopeBatch, check: a.keyBatch, handle: a.listEvents},
		{method: "GET", path: "/outbox", auth: globalKey, right: never, handle: a.listOutbox},
		{method: "POST", path: "/outbox/retry", auth: globalKey, right: never, handle: a.retryOutbox},
		{method: "POST", path: "/outbox/{id}/retry", auth: globalKey, right: never, handle: a.retryEntry},

		{method: "GET", path: "/webhook/deliveries", auth: globalKey, right: scopeDeliveries | everywhere, handle: a.listDeliveries},
		{method: "GET", path: "/webhook/deliveries/{id}", auth: globalKey, right: scopeDeliveries | everywhere, handle: a.showDelivery},
		{method: "POST", path: "/webhook/deliveries/{id}/retry", auth: globalKey, right: scopeDeliveries | everywhere, handle: a.retryDelivery},
		{method: "POST", path: "/webhook/deliveries/replay", auth: globalKey, right: scopeDeliveries | everywhere, handle: once(a.replayDeliveries)},
		{method: "GET", path: "/webhook/replays/{id}", auth: globalKey, right: scopeDeliveries | everywhere, handle: a.showReplay},
		{method: "DELETE", path: "/webhook/replays/{id}", auth: globalKey, right: scopeDeliveries | everywhere, handle: a.cancelReplay},

		{method: "GET", path: "/ws/global/events", auth: handshake, right: scopeBatch, handle: a.globalEvents},
		{method: "GET", path: "/ws/instance/events", auth: handshake, right: scopeRead, handle: a.instanceEvents},
		{method: "GET", path: "/ws/console", auth: anyKey, right: scopeRead, handle: a.openConsole},
	}
}
