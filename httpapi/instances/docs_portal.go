package instances

import (
	"net/http"
	"slices"

	"postern/httpapi/openapi"
	"postern/httpapi/rest"
)

// portalDescriptions describe the routes of portal links, which answer as the
// routes of the instance do.
func portalDescriptions() map[string]rest.Words {
	of := connectionDescriptions()
	by := func(route, id, summary string) rest.Words {
		d := of[route]
		d.ID, d.Summary, d.About, d.Query = id, summary, "As `"+route+"`.", nil
		return d
	}
	code := by("POST /instance/{i}/connect/code", "pairByPortal", "Ask for a code to type on a phone.")
	code.About += " A link may request at most 5 codes in 15 minutes, all links of an instance together 20 a day."
	code.Codes = append(slices.Clone(code.Codes), rest.CodeRateLimited, "DISK_FULL")
	return map[string]rest.Words{
		"POST /instance/{i}/portal-link": {
			ID: "createPortalLink", Summary: "Create a link that lets a person without a credential pair the instance, and nothing else.",
			About: "Its page shows the name of the instance, its state and the steps to link it. It expires at expiresAt, or when the key or token that created it becomes invalid.",
			In:    rest.TypeOf[portalLinkRequest](), Example: `{"expiresIn":3600}`, Status: http.StatusCreated, Out: rest.TypeOf[MadePortalLink](), Codes: rest.Codes{rest.CodeExpiresIn, rest.CodeLimitReached, "DISK_FULL"},
			Advice: map[string]string{rest.CodeExpiresIn: PortalLinkLife().Advice()},
		},
		"GET /portal/{token}":         {ID: "getPortal", Summary: "Get the page of a portal link.", Media: "text/html", Also: []openapi.Answer{{Status: http.StatusNotFound, Media: "text/html", About: "The same page, with the message that the link has expired."}}},
		"GET /portal/{token}/state":   {ID: "getPortalState", Summary: "Get the state that the page of a portal link shows.", Out: rest.TypeOf[PortalState]()},
		"GET /portal/{token}/logo":    {ID: "getPortalLogo", Summary: "Get the operator's logo, for the page of a portal link.", Media: "image/*", Codes: rest.Codes{rest.CodeNotFound}},
		"GET /portal/{token}/connect": by("GET /instance/{i}/connect", "connectByPortal", "Connect the instance of a portal link. ownerJid is null."),
		"DELETE /portal/{token}/connect": {
			ID: "giveUpByPortal", Summary: "Cancel a pairing that is in progress. A linked account is not affected.", Status: http.StatusNoContent, Codes: rest.Codes{"ALREADY_CONNECTED"},
		},
		"POST /portal/{token}/connect/code":              code,
		"GET /portal/{token}/connect/passkey/script":     by("GET /instance/{i}/connect/passkey/script", "getPasskeyScriptByPortal", "Get the script that requests the passkey's signature."),
		"POST /portal/{token}/connect/passkey/assertion": by("POST /instance/{i}/connect/passkey/assertion", "answerPasskeyByPortal", "Submit the authenticator's answer."),
		"POST /portal/{token}/connect/passkey/confirm":   by("POST /instance/{i}/connect/passkey/confirm", "confirmPasskeyByPortal", "Confirm that the code matches the one on the phone."),
	}
}

func PortalFields() openapi.Fields {
	return openapi.Fields{
		"{token}":                     rest.Say("The secret of the link.", "q2Zk"),
		"PortalLinkRequest.expiresIn": rest.Say("How long the link lasts, in seconds.", 3600, PortalLinkLife().Schema()),
		"MadePortalLink.url":          rest.Say("The link.", "https://postern.example.org/portal/q2Zk"),
		"MadePortalLink.expiresAt":    rest.Say("When it expires.", rest.ExampleTime),
		"PortalState.state":           rest.Say("open, connecting or close.", "connecting"),
		"PortalState.lastError":       rest.Say("The last error; null when there was none.", nil, openapi.OrNull()),
		"PortalState.passkey":         rest.Say("The state of a passkey pairing; absent otherwise.", nil),
		"PortalState.expiresAt":       rest.Say("When the link expires.", rest.ExampleTime),
		"PortalState.title":           rest.Say("The setting console.title.", "Postern"),
		"PortalState.accent":          rest.Say("The setting console.accent; empty: the page's default colour.", "#2f47b8"),
		"PortalState.logo":            rest.Say("Whether there is a logo.", false),
	}
}
