package faults

import (
	"net/http"
	"strings"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// nested returns an object that holds an object that holds an object …, so many.
func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels-1) + `{}` + strings.Repeat(`}`, levels-1)
}

// TestNoRequestKeepsTheProgramFromStartingAgain sends what JSON readers take
// alone and cannot read back once a record is around it.
func TestNoRequestKeepsTheProgramFromStartingAgain(t *testing.T) {
	w := rig.NewWorld(t)
	w.Start()
	token := w.Pair("red")
	for _, levels := range []string{nested(10_000), nested(9_999), nested(9_990)} {
		for name, r := range map[string]struct {
			cred       consumer.Credential
			path, body string
		}{
			"a batch":     {consumer.Bearer(w.User), "/message/batches", `{"name":"deep","instances":["red"],"recipients":["4917400000001"],"message":{"type":"text","payload":{"text":"x"}},"externalAttributes":$}`},
			"an instance": {consumer.Key(w.Sec.GlobalAuthToken), "/instance", `{"externalAttributes":$}`},
			"a send to all": {
				consumer.Bearer(token), "/instance/red/send/text",
				`{"chat":"120363000000000001@g.us","textMessage":{"text":"x"},"options":{"mentionAll":true,"delay":120000,"externalAttributes":$}}`,
			},
			"a quote": {
				consumer.Bearer(token), "/instance/red/send/text",
				`{"chat":"120363000000000001@g.us","textMessage":{"text":"x"},"options":{"mentionAll":true,"delay":120000,"quotedMessage":{"key":{"id":"A","remoteJid":"120363000000000001@g.us","participant":"4917400000001@s.whatsapp.net"},"message":{"imageMessage":$}}}}`,
			},
		} {
			status, answer := w.Raw(r.cred, http.MethodPost, r.path, strings.ReplaceAll(r.body, "$", levels))
			if status != http.StatusBadRequest || !strings.Contains(answer, `"TOO_DEEP"`) {
				t.Errorf("%s: %d %.200s", name, status, answer)
			}
		}
	}
	w.Kill()
	w.Start()
	w.AwaitOnline("red", token)
	w.Stop()
}
