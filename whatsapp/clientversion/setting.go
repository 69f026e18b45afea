package clientversion

import (
	"errors"

	"postern/whatsapp"
)

// Values of whatsapp.version, besides a version.
const (
	Auto        = "auto"    // WhatsApp's, if it rejects the built-in one
	BuiltinOnly = "builtin" // always the client library's
)

// CheckSetting returns an error with the rule if text is not a value of
// whatsapp.version.
func CheckSetting(text string) error {
	if text == Auto || text == BuiltinOnly {
		return nil
	}
	if _, err := whatsapp.ParseVersion(text); err != nil {
		return errors.New("must be auto, builtin or a version such as " + whatsapp.BuiltinVersion().String())
	}
	return nil
}
