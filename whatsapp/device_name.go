package whatsapp

import "strings"

// deviceName tells which kind of device sent a message, by the form that the
// programs of WhatsApp give their message ids, or nil for any other form:
//
//	ios      3A and 18 more digits
//	web      3E and 20 more digits; the web client and most libraries
//	desktop  3F and any more, or 18 digits
//	android  21 or 32 digits
//
// Digits are hexadecimal. The number of the sending device says only whether
// it is an account's first device or a linked one, and phones can be either,
// so that it takes no part. The sender chooses the id: this is a hint and
// proves nothing.
func deviceName(id string) *string {
	if strings.Trim(id, "0123456789abcdefABCDEF") != "" {
		return nil
	}
	has := func(prefix string) bool { return strings.HasPrefix(id, prefix) }
	switch n := len(id); {
	case n == 20 && has("3A"):
		return new("ios")
	case n == 22 && has("3E"):
		return new("web")
	case n == 21, n == 32:
		return new("android")
	case n == 18, n > 2 && has("3F"):
		return new("desktop")
	default:
		return nil
	}
}
