package sandbox

// PhoneOptions describes a phone to add.
type PhoneOptions struct {
	Number   string // digits with the country code; the account's phone number
	PushName string // the name that others see; empty is allowed
	LID      string // user part of the hidden address, digits; empty derives one from the number
}
