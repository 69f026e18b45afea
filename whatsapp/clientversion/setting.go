package clientversion

import (
	"errors"

	"postern/whatsapp"
)

// What whatsapp.version may be, besides a version.
const (
	Auto        = "auto"    // WhatsApp's, when it refuses the built-in one
	BuiltinOnly = "builtin" // the client library's, whatever WhatsApp says
)

// CheckSetting returns an error that says the rule when text is no value of
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
