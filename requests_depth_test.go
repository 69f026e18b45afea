package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// nested is an object that holds an object that holds an object …, so many.
func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels-1) + `{}` + strings.Repeat(`}`, levels-1)
}

// TestNoRequestKeepsTheProgramFromStartingAgain sends what JSON readers take
// alone and cannot read back once a record is around it.
func TestNoRequestKeepsTheProgramFromStartingAgain(t *testing.T) {
	w := newWorld(t)
	w.start()
	token := w.pair("red")
	for _, levels := range []string{nested(10_000), nested(9_999), nested(9_990)} {
		for name, r := range map[string]struct {
			cred       credential
			path, body string
		}{
			"a batch":     {bearer(w.user), "/message/batches", `{"name":"deep","instances":["red"],"recipients":["4917400000001"],"message":{"type":"text","payload":{"text":"x"}},"externalAttributes":$}`},
			"an instance": {apiKey(w.sec.GlobalAuthToken), "/instance", `{"externalAttributes":$}`},
			"a send to all": {
				bearer(token), "/instance/red/send/text",
				`{"chat":"120363000000000001@g.us","textMessage":{"text":"x"},"options":{"mentionAll":true,"delay":120000,"externalAttributes":$}}`,
			},
			"a quote": {
				bearer(token), "/instance/red/send/text",
				`{"chat":"120363000000000001@g.us","textMessage":{"text":"x"},"options":{"mentionAll":true,"delay":120000,"quotedMessage":{"key":{"id":"A","remoteJid":"120363000000000001@g.us","participant":"4917400000001@s.whatsapp.net"},"message":{"imageMessage":$}}}}`,
			},
		} {
			status, answer := w.raw(r.cred, http.MethodPost, r.path, strings.ReplaceAll(r.body, "$", levels))
			if status != http.StatusBadRequest || !strings.Contains(answer, `"TOO_DEEP"`) {
				t.Errorf("%s: %d %.200s", name, status, answer)
			}
		}
	}
	w.kill()
	w.start()
	w.awaitOnline("red", token)
	w.stop()
}

// raw sends a body as it is and returns the answer as it is.
func (w *world) raw(cred credential, method, path, body string) (status int, answer string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.api.base+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set(cred.name, cred.value)
	res, err := w.api.http.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}
