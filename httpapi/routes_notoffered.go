package httpapi

import (
	"net/http"

	"postern/httpapi/rest"
)

const codeNotOffered = "NOT_OFFERED"

// Features of other gateways of this family that this program does not offer. A request for one is answered,
// after its credential was checked, with a 501 that states this; a 404 would look like an error of the client.

const (
	noInteraction = "interactive messages of ordinary accounts do not arrive at today's phones; send a poll (send/poll) or a link (send/link) instead"
	noPayments    = "payments and orders are not offered here; send a link to the payment page (send/link) instead"
	noCalls       = "calls are not offered here: the event call.upsert reports incoming ones, and chat/reject-call rejects them"
)

// notOffered lists the ends of the paths below /instance/{i}/send/, with the reasons.
func notOffered() map[string]string {
	return map[string]string{
		"buttons": noInteraction, "reply": noInteraction, "url": noInteraction, "copy": noInteraction, "list": noInteraction,
		"carousel": noInteraction, "form": noInteraction,
		"pix": noPayments, "payment-request": noPayments, "review-order": noPayments,
	}
}

// callsPath is the beginning of every path about calls.
const callsPath = "/call/"

// notOfferedMethods are the methods with a body: published documents differ in the method of such a path.
func notOfferedMethods() []string {
	return []string{http.MethodPatch, http.MethodPost, http.MethodPut}
}

// notOfferedAliases are older names of these paths.
func notOfferedAliases() []rest.Alias {
	methods := notOfferedMethods()
	return []rest.Alias{
		{Methods: methods, From: "/message/sendButtons/{i}", To: "/instance/{i}/send/buttons", Legacy: true},
		{Methods: methods, From: "/message/sendList/{i}", To: "/instance/{i}/send/list", Legacy: true},
		{Methods: methods, From: "/message/reviewOrder/{i}", To: "/instance/{i}/send/review-order", Legacy: true},
	}
}

// addNotOffered adds the refused paths.
func (a *api) addNotOffered() {
	refused := func(why string) rest.Handler {
		return func(*rest.Call) error { return rest.Refuse(http.StatusNotImplemented, codeNotOffered, why) }
	}
	for end, why := range notOffered() {
		for _, method := range notOfferedMethods() {
			a.Add(rest.Route{Method: method, Path: "/instance/{i}/send/" + end, Auth: rest.InstanceBearer, Right: rest.AnyScope, Handle: refused(why)})
		}
	}
	a.Mount(rest.Route{Path: callsPath, Auth: rest.PathBearer, Right: rest.AnyScope, Handle: refused(noCalls)})
}
