package rest

import "postern/httpapi/openapi"

// Say is short for [openapi.Say].
func Say(about string, example any, rules ...openapi.Object) openapi.Field {
	return openapi.Say(about, example, rules...)
}

// Values that many examples share.
const (
	ExamplePhone = "4915112345678"
	ExampleJID   = "4915112345678@s.whatsapp.net"
	ExampleLID   = "133742133742133@lid"
	ExampleKeyID = "3EB0C767D097B7C7C030"
	ExampleUUID  = "6f1c1a52-0d6b-4c56-9c0e-6d1a3f4b2c10"
	ExampleTime  = "2026-03-01T12:00:00.000Z"
	ExampleName  = "sales"
	ExampleGroup = "120363012345678901@g.us"
)

// Examples returns these values by the name that stands in tags of fields with a $ in front.
func Examples() map[string]string {
	return map[string]string{
		"phone": ExamplePhone, "jid": ExampleJID, "lid": ExampleLID, "keyid": ExampleKeyID,
		"uuid": ExampleUUID, "time": ExampleTime, "name": ExampleName, "group": ExampleGroup,
	}
}
