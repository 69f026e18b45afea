package sandbox

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// WriteHelp writes the control routes and every act with its fields as text; GET
// /sandbox/help has the same as JSON.
func WriteHelp(w io.Writer) error {
	var b strings.Builder
	b.WriteString("Control routes:\n")
	about := controlRoutes()
	for _, route := range slices.Sorted(maps.Keys(about)) {
		fmt.Fprintf(&b, "  %s\n      %s\n", route, about[route])
	}
	b.WriteString("\nActs, the values of \"do\", with their fields:\n")
	for _, t := range themes() {
		fmt.Fprintf(&b, "\n%s\n", t.title)
		for _, a := range t.acts {
			a.write(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (a *actHelp) write(b *strings.Builder) {
	fmt.Fprintf(b, "  %-22s %s\n", a.Do, a.Does)
	for _, field := range slices.Sorted(maps.Keys(a.Fields)) {
		fmt.Fprintf(b, "      %-18s %s\n", field, a.Fields[field])
	}
}

// controlRoutes describes each control route.
func controlRoutes() map[string]string {
	return map[string]string{
		"GET /sandbox/help":                "this help as JSON: routes, and every act with its fields",
		"GET /sandbox/phones":              "list the phones that were added or have a linked device",
		"POST /sandbox/phones":             "add a phone: phone (missing: a free number), pushName, lid, registeredAs (the number whose account a look-up of phone answers with), passkey (true: linking a device requires the passkey of its account)",
		"GET /sandbox/phones/{phone}":      "one phone, with withoutTimer: how many messages came without the disappearing timer of their chat",
		"POST /sandbox/scan":               "scan the QR text or type the link code `code` on `phone`; without phone a new one scans, and a link code is typed on the phone that it was requested for",
		"POST /sandbox/phones/{phone}/act": "make the phone or the network do something: do, and the act's fields",
		"POST /sandbox/faults": "disturb the clients: ackDelayMs (up to an hour), sendError (every message is refused with this code), dropAfter (the nth message is lost with its connection), " +
			"swallowPings, losePairingEnd, stateError (every read and change of app state is refused with this code), mediaError (the status of every download of a file), withholdReceipts (phones acknowledge nothing); {} heals these and the faults of acts, such as refused logins and clients",
	}
}
