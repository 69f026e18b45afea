package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"postern/httpapi/rest"
)

func TestNewsletterCallsReachTheAccount(t *testing.T) {
	r, token, d := doing(t)
	const body = `{"newsletterJid":"9@newsletter"}`
	shown := `{"jid":"9@newsletter","name":"","description":"","subscribers":0}`
	r.asks(t, token, d, []request{
		{"GET", "/instance/a/newsletters", "", "list newsletters", "[]"},
		{"GET", "/instance/a/newsletter?newsletterJid=9@newsletter", "", "show 9@newsletter", shown},
		{"GET", "/instance/a/newsletter?inviteCode=https://whatsapp.com/channel/AB", "", "newsletter of AB", shown},
		{"POST", "/instance/a/newsletter/follow", body, "follow 9@newsletter true", `{"newsletterJid":"9@newsletter","following":true}`},
		{"POST", "/instance/a/newsletter/unfollow", body, "follow 9@newsletter false", `{"newsletterJid":"9@newsletter","following":false}`},
		{"POST", "/instance/a/newsletter/mute", body, "mute 9@newsletter true", `{"newsletterJid":"9@newsletter","muted":true}`},
		{"POST", "/instance/a/newsletter/unmute", body, "mute 9@newsletter false", `{"newsletterJid":"9@newsletter","muted":false}`},
	})
}

func TestABadNewsletterCallAsksForNothing(t *testing.T) {
	r, token, d := doing(t)
	rows := []refusedCall{
		{"GET", "/instance/a/newsletter", "", 400, rest.CodeInvalidQuery, "newsletterJid"},
		{"GET", "/instance/a/newsletter?newsletterJid=9@newsletter&inviteCode=AB", "", 400, rest.CodeInvalidQuery, "inviteCode"},
		{"GET", "/instance/a/newsletter?newsletterJid=1-2@g.us", "", 422, "INVALID_RECIPIENT", "newsletterJid"},
		{"GET", "/instance/a/newsletter?inviteCode=" + strings.Repeat("A", 65), "", 422, "INVALID_ARGUMENT", "inviteCode"},
		{"GET", "/instance/a/newsletters?limit=1", "", 400, rest.CodeInvalidQuery, "limit"},
	}
	for _, act := range []string{"follow", "unfollow", "mute", "unmute"} {
		path := "/instance/a/newsletter/" + act
		rows = append(
			rows,
			refusedCall{"POST", path, `{}`, 400, rest.CodeMissingField, "newsletterJid"},
			refusedCall{"POST", path, `{"newsletterJid":"4915112345678"}`, 422, "INVALID_RECIPIENT", "newsletterJid"},
			refusedCall{"POST", path, `{"newsletterJid":"@newsletter"}`, 422, "INVALID_RECIPIENT", "newsletterJid"},
			refusedCall{"POST", path, `{"newsletterJid":9}`, 400, rest.CodeInvalidType, "newsletterJid"},
		)
	}
	r.refuses(t, token, d, rows)
}

// TestEmptyQuoteInNewsletterIsNone, as in every other chat.
func TestEmptyQuoteInNewsletterIsNone(t *testing.T) {
	r, token, _ := doing(t)
	post := func(quoted string) *http.Response {
		return r.as(token, "POST", sendPath, `{"number":"9@newsletter","textMessage":{"text":"x"},"options":{"quotedMessage":`+quoted+`}}`)
	}
	for _, none := range []string{`{}`, `null`} {
		if res := post(none); res.StatusCode != 200 {
			t.Errorf("%s: %s %s", none, res.Status, text(t, res))
		}
	}
	wantError(t, post(`{"keyId":"A"}`), 422, "INVALID_MESSAGE")
}
