package httpapi

import (
	"net/http"
)

const codeNotOffered = "NOT_OFFERED"

// Features of other gateways of this family that this program does not offer. A
// client that asks for one gets a 501 that says so, after its credential was
// checked; a 404 would look like a mistake of the client.

const (
	noInteraction = "interactive messages of ordinary accounts do not arrive at today's phones; send a poll (send/poll) or a link (send/link) instead"
	noPayments    = "payments and orders are not offered here; send a link to the payment page (send/link) instead"
	noCalls       = "calls are not offered here: the event call.upsert reports incoming ones, and chat/reject-call rejects them"
)

// notOffered are the ends of the paths below /instance/{i}/send/, and why.
func notOffered() map[string]string {
	return map[string]string{
		"buttons": noInteraction, "reply": noInteraction, "url": noInteraction, "copy": noInteraction, "list": noInteraction,
		"carousel": noInteraction, "form": noInteraction,
		"pix": noPayments, "payment-request": noPayments, "review-order": noPayments,
	}
}

// callsPath is the beginning of every path about calls.
const callsPath = "/call/"

// notOfferedMethods are those with a body: published documents differ in which one
// such a path has.
func notOfferedMethods() []string {
	return []string{http.MethodPatch, http.MethodPost, http.MethodPut}
}

// notOfferedAliases are older names of these paths.
func notOfferedAliases() []alias {
	methods := notOfferedMethods()
	return []alias{
		{methods: methods, from: "/message/sendButtons/{i}", to: "/instance/{i}/send/buttons", legacy: true},
		{methods: methods, from: "/message/sendList/{i}", to: "/instance/{i}/send/list", legacy: true},
		{methods: methods, from: "/message/reviewOrder/{i}", to: "/instance/{i}/send/review-order", legacy: true},
	}
}

// addNotOffered adds the refused paths.
func (a *api) addNotOffered() {
	refused := func(why string) handler {
		return func(*call) error { return refuse(http.StatusNotImplemented, codeNotOffered, why) }
	}
	for end, why := range notOffered() {
		for _, method := range notOfferedMethods() {
			a.add(route{method: method, path: "/instance/{i}/send/" + end, auth: instanceBearer, handle: refused(why)})
		}
	}
	a.mount(route{path: callsPath, auth: pathBearer, handle: refused(noCalls)})
}
