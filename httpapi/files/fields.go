package files

import (
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
	"postern/media/kept"
)

// Fields returns the descriptions of fields and parameters whose limit is a constant.
func Fields() openapi.Fields {
	return openapi.Fields{
		"LinkRequest.expiresIn": rest.Say("How long the link lasts, in seconds; media.link_ttl when absent.", 86_400, LinkLife().Schema()),
		"listMediaFiles.?state": rest.Say("Only the files in this state.", string(kept.Stored), openapi.OneOf(kept.States()...)),
		"KeptFile.state":        rest.Say("PENDING: to be fetched. STORED. FAILED: given up. SKIPPED: never tried. REMOVED: was kept.", string(kept.Stored), openapi.OneOf(kept.States()...)),
		"KeptFile.reason":       rest.Say("SIZE, QUOTA, DISK_FULL, GONE, INVALID, UNREACHABLE, RETENTION or DELETED; null when there is none.", string(kept.Unreachable)),
		"?download":             rest.Say("1: the file is an attachment, whatever its type.", "1", openapi.OneOf("1", "true", "false")),
		"{name}":                rest.Say("The name of the file, for people. It is not looked at.", "cat.jpg"),
	}
}
