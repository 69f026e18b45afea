package httpapi

import (
	"net/http"
	"slices"

	"postern/httpapi/openapi"
)

// portalDescriptions describe the routes of portal links, which answer as the
// routes of the instance do.
func portalDescriptions() map[string]description {
	of := connectionDescriptions()
	by := func(route, id, summary string) description {
		d := of[route]
		d.id, d.summary, d.about, d.query = id, summary, "As `"+route+"`.", nil
		return d
	}
	code := by("POST /instance/{i}/connect/code", "pairByPortal", "Ask for a code to type on a phone.")
	code.about += " A link may request at most 5 codes in 15 minutes, all links of an instance together 20 a day."
	code.codes = append(slices.Clone(code.codes), codeRateLimited, "DISK_FULL")
	return map[string]description{
		"POST /instance/{i}/portal-link": {
			id: "createPortalLink", summary: "Create a link that lets a person without a credential pair the instance, and nothing else.",
			about: "Its page shows the name of the instance, its state and the steps to link it. It expires at expiresAt, or when the key or token that created it becomes invalid.",
			in:    body[portalLinkRequest](), example: `{"expiresIn":3600}`, status: http.StatusCreated, out: body[madePortalLink](), codes: codes{codeExpiresIn, codeLimitReached, "DISK_FULL"},
			advice: map[string]string{codeExpiresIn: portalLinkLife().advice()},
		},
		"GET /portal/{token}":         {id: "getPortal", summary: "Get the page of a portal link.", media: "text/html", also: []openapi.Answer{{Status: http.StatusNotFound, Media: "text/html", About: "The same page, with the message that the link has expired."}}},
		"GET /portal/{token}/state":   {id: "getPortalState", summary: "Get the state that the page of a portal link shows.", out: body[portalState]()},
		"GET /portal/{token}/logo":    {id: "getPortalLogo", summary: "Get the operator's logo, for the page of a portal link.", media: "image/*", codes: codes{codeNotFound}},
		"GET /portal/{token}/connect": by("GET /instance/{i}/connect", "connectByPortal", "Connect the instance of a portal link. ownerJid is null."),
		"DELETE /portal/{token}/connect": {
			id: "giveUpByPortal", summary: "Cancel a pairing that is in progress. A linked account is not affected.", status: http.StatusNoContent, codes: codes{"ALREADY_CONNECTED"},
		},
		"POST /portal/{token}/connect/code":              code,
		"GET /portal/{token}/connect/passkey/script":     by("GET /instance/{i}/connect/passkey/script", "getPasskeyScriptByPortal", "Get the script that requests the passkey's signature."),
		"POST /portal/{token}/connect/passkey/assertion": by("POST /instance/{i}/connect/passkey/assertion", "answerPasskeyByPortal", "Submit the authenticator's answer."),
		"POST /portal/{token}/connect/passkey/confirm":   by("POST /instance/{i}/connect/passkey/confirm", "confirmPasskeyByPortal", "Confirm that the code matches the one on the phone."),
	}
}

func portalFields() openapi.Fields {
	return openapi.Fields{
		"{token}":                     say("The secret of the link.", "q2Zk"),
		"PortalLinkRequest.expiresIn": say("How long the link lasts, in seconds.", 3600, portalLinkLife().shape()),
		"MadePortalLink.url":          say("The link.", "https://postern.example.org/portal/q2Zk"),
		"MadePortalLink.expiresAt":    say("When it expires.", exampleTime),
		"PortalState.state":           say("open, connecting or close.", "connecting"),
		"PortalState.lastError":       say("The last error; null when there was none.", nil, openapi.OrNull()),
		"PortalState.passkey":         say("The state of a passkey pairing; absent otherwise.", nil),
		"PortalState.expiresAt":       say("When the link expires.", exampleTime),
		"PortalState.title":           say("The setting console.title.", "Postern"),
		"PortalState.accent":          say("The setting console.accent; empty: the page's default colour.", "#2f47b8"),
		"PortalState.logo":            say("Whether there is a logo.", false),
	}
}
