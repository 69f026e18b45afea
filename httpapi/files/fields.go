package files

import (
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
)

// Fields returns the descriptions of fields and parameters whose limit is a constant.
func Fields() openapi.Fields {
	return openapi.Fields{
		"LinkRequest.expiresIn": rest.Say("How long the link lasts, in seconds; media.link_ttl when absent.", 86_400, LinkLife().Schema()),
		"?download":             rest.Say("1: the file is an attachment, whatever its type.", "1", openapi.OneOf("1", "true", "false")),
		"{name}":                rest.Say("The name of the file, for people. It is not looked at.", "cat.jpg"),
	}
}
