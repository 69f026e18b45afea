package translate

import "strings"

// deviceName guesses the kind of device that sent a message by the form of the message
// id, nil if unknown:
//
//	ios      3A and 18 more digits
//	web      3E and 20 more digits; the web client and most libraries
//	desktop  3F and any more, or 18 digits
//	android  21 or 32 digits
//
// Digits are hexadecimal. The number of the sending device is not used: it only
// distinguishes the first device of an account from linked ones, and a phone can be
// either. The sender chooses the id, so this is a hint and not a proof.
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
