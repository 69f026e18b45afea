package httpapi

import (
	"net/http"
	"slices"

	"postern/httpapi/openapi"
)

// portalDescriptions are those of portal links. What a link leads to answers as the
// routes of the instance do.
func portalDescriptions() map[string]description {
	of := connectionDescriptions()
	by := func(route, id, summary string) description {
		d := of[route]
		d.id, d.summary, d.about, d.query = id, summary, "As `"+route+"`.", nil
		return d
	}
	code := by("POST /instance/{i}/connect/code", "pairByPortal", "Ask for a code to type on a phone.")
	code.about += " A link asks for 5 codes in 15 minutes at most, all links of an instance for 20 in a day."
	code.codes = append(slices.Clone(code.codes), codeRateLimited, "DISK_FULL")
	return map[string]description{
		"POST /instance/{i}/portal-link": {
			id: "createPortalLink", summary: "Make a link with which somebody without a credential can pair the instance, and do nothing else.",
			about: "It leads to a page that shows the name of the instance, its state and the way to link it. It ends at expiresAt, and with the key or the token that made it.",
			in:    body[portalLinkRequest](), example: `{"expiresIn":3600}`, status: http.StatusCreated, out: body[madePortalLink](), codes: codes{codeExpiresIn, codeLimitReached, "DISK_FULL"},
			advice: map[string]string{codeExpiresIn: portalLinkLife().advice()},
		},
		"GET /portal/{token}":         {id: "getPortal", summary: "The page that a portal link leads to.", media: "text/html", also: []openapi.Answer{{Status: http.StatusNotFound, Media: "text/html", About: "The same page, which says that the link is over."}}},
		"GET /portal/{token}/state":   {id: "getPortalState", summary: "What the page of a portal link shows.", out: body[portalState]()},
		"GET /portal/{token}/logo":    {id: "getPortalLogo", summary: "The operator's logo, for the page of a portal link.", media: "image/*", codes: codes{codeNotFound}},
		"GET /portal/{token}/connect": by("GET /instance/{i}/connect", "connectByPortal", "Connect the instance of a portal link. ownerJid is null."),
		"DELETE /portal/{token}/connect": {
			id: "giveUpByPortal", summary: "Give up a pairing that is under way. An account that is linked stays so.", status: http.StatusNoContent, codes: codes{"ALREADY_CONNECTED"},
		},
		"POST /portal/{token}/connect/code":              code,
		"GET /portal/{token}/connect/passkey/script":     by("GET /instance/{i}/connect/passkey/script", "getPasskeyScriptByPortal", "The line that asks for the signature of a passkey."),
		"POST /portal/{token}/connect/passkey/assertion": by("POST /instance/{i}/connect/passkey/assertion", "answerPasskeyByPortal", "Hand over the authenticator's answer."),
		"POST /portal/{token}/connect/passkey/confirm":   by("POST /instance/{i}/connect/passkey/confirm", "confirmPasskeyByPortal", "Confirm that the code is the one on the phone."),
	}
}

func portalFields() openapi.Fields {
	return openapi.Fields{
		"{token}":                     say("The secret of the link.", "q2Zk"),
		"PortalLinkRequest.expiresIn": say("How long the link lasts, in seconds.", 3600, portalLinkLife().shape()),
		"MadePortalLink.url":          say("The link.", "https://postern.example.org/portal/q2Zk"),
		"MadePortalLink.expiresAt":    say("When it ends.", exampleTime),
		"PortalState.state":           say("open, connecting or close.", "connecting"),
		"PortalState.lastError":       say("What went wrong last; null when nothing did.", nil, openapi.OrNull()),
		"PortalState.passkey":         say("What a pairing with a passkey waits for; absent otherwise.", nil),
		"PortalState.expiresAt":       say("When the link ends.", exampleTime),
		"PortalState.title":           say("What console.title says.", "Postern"),
		"PortalState.accent":          say("What console.accent says; empty: the page's own colour.", "#2f47b8"),
		"PortalState.logo":            say("Whether there is a logo.", false),
	}
}
