package httpapi

import (
	"net/http"
	"slices"

	"postern/access"
	"postern/httpapi/rest"
	"postern/httpapi/sockets"
)

// commonCodes are the refusals that follow from what every route of a kind
// does before its own work.
func commonCodes(r Route) rest.Codes {
	d, all := r.row, rest.Codes{rest.CodeInternal}
	if r.Auth != AuthNone || d.In != nil {
		all = all.And(rest.CodeShuttingDown)
	}
	if r.Auth != AuthNone && r.Auth != AuthLink && (r.Auth != AuthCredential || len(r.Scopes) > 0) {
		all = all.And(rest.CodeScope, rest.CodeRateLimited, rest.CodeKeyMismatch)
	}
	if r.Auth != AuthNone && r.Auth != AuthLink && r.Auth != AuthHandshake && (r.Method != http.MethodGet || slices.Equal(r.Scopes, []access.Scope{access.Pair})) {
		all = all.And(rest.CodeCSRF)
	}
	if slices.Contains(r.Scopes, access.Send) || slices.Contains(r.Scopes, access.Batch) && (r.Method == http.MethodPost || r.Method == http.MethodPatch) {
		all = all.And(rest.CodeRecipientNotAllowed)
	}
	switch r.Auth {
	case AuthKey, AuthCredential:
		all = all.And(rest.CodeUnauthorized, rest.CodeTooManyFailures)
	case AuthInstance:
		all = all.And(rest.CodeUnauthorized, rest.CodeForbidden, "INSTANCE_NOT_FOUND", rest.CodeTooManyFailures)
	case AuthUser:
		all = all.And(rest.CodeMissingField, rest.CodeUnauthorized, rest.CodeTooManyFailures)
	case AuthHandshake:
		all = all.And(rest.CodeUnauthorized, rest.CodeForbidden, "ORIGIN_REFUSED", rest.CodeUpgradeRequired, sockets.CodeInvalidSubscription, rest.CodeTooManyFailures)
	case AuthLink:
		all = all.And("PORTAL_NOT_FOUND")
	case AuthNone:
	}
	if len(d.Query) > 0 {
		all = all.And(rest.CodeInvalidQuery)
	}
	if r.Method != http.MethodGet && (d.In != nil || d.Form == nil) {
		all = all.And(rest.CodeMalformedJSON, rest.CodeTooDeep, rest.CodeUnknownField, rest.CodeDuplicateField, rest.CodeInvalidType, rest.CodeBodyTooLarge, rest.CodeBodyTimeout, rest.CodeContentType)
	}
	if d.In != nil {
		all = all.And(rest.CodeMissingField)
	}
	if d.Form != nil {
		all = all.And(rest.CodeMalformedForm, rest.CodeTooDeep, rest.CodeUnknownField, rest.CodeDuplicateField, rest.CodeMissingField, rest.CodeInvalidType, rest.CodeBodyTooLarge, rest.CodeBodyTimeout, rest.CodeContentType)
	}
	if slices.Contains(d.Codes, "INSTANCE_NOT_CONNECTED") {
		all = all.And("INSTANCE_MOVED", rest.CodeWrongNetwork)
	}
	if d.Once {
		all = all.And(rest.CodeInvalidKey, rest.CodeKeyInUse, rest.CodeKeyReused, "DISK_FULL")
	}
	return all
}
