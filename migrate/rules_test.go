package migrate

import (
	"fmt"
	"strings"
	"testing"
)

// TestForeignRowsMeetRequestRules has a codechat-go database in SQLite whose columns hold
// what no request could set. It is left out, each with the rule that it breaks.
func TestForeignRowsMeetRequestRules(t *testing.T) {
	nested := func(levels int) string {
		return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
	}
	var headers []string
	for i := range 100 {
		headers = append(headers, fmt.Sprintf(`"X-%d":"v"`, i))
	}
	for name, c := range map[string]struct{ attributes, description, picture, url, headers, content, want string }{
		"deep attributes":  {attributes: nested(9996), want: "the external attributes: externalAttributes nests"},
		"65 levels":        {attributes: nested(65), want: "the external attributes: externalAttributes nests"},
		"large attributes": {attributes: `{"a":"` + strings.Repeat("x", 65536) + `"}`, want: "the external attributes: externalAttributes must"},
		"description":      {description: strings.Repeat("d", 256), want: "the description: description must"},
		"picture":          {picture: "javascript:x", want: "the profile picture: profilePicUrl must"},
		"line break":       {headers: `{"X-A":"v\r\nX-B: v"}`, want: "the webhook's headers: headers.X-A must"},
		"host":             {headers: `{"Host":"v"}`, want: "the webhook's headers: headers.Host must"},
		"many headers":     {headers: "{" + strings.Join(headers, ",") + "}", want: "the webhook's headers: headers must"},
		"URL":              {url: "file:///etc/passwd", want: "the webhook: url must"},
		"deep content":     {content: nested(65), want: "1 row of Message that cannot be used"},
	} {
		value := func(text, usual string) string {
			if text == "" {
				text = usual
			}
			return "'" + strings.ReplaceAll(text, "'", "''") + "'"
		}
		store := whatsmeowStore(t, annaDevice)
		o := options(store, database(t, "codechat.db",
			`CREATE TABLE "Instance" (id INTEGER, name TEXT, description TEXT, ownerJid TEXT, profilePicUrl TEXT, externalAttributes TEXT)`,
			`CREATE TABLE "Auth" (id INTEGER, token TEXT, instanceId INTEGER)`,
			`CREATE TABLE "Webhook" (id INTEGER, url TEXT, enabled INTEGER, events TEXT, headers TEXT, instanceId INTEGER)`,
			`CREATE TABLE "Message" (id INTEGER, keyId TEXT, keyRemoteJid TEXT, keyFromMe INTEGER, messageType TEXT, content TEXT, messageTimestamp INTEGER, instanceId INTEGER)`,
			`INSERT INTO "Instance" VALUES (1, 'anna', `+value(c.description, "d")+`, '`+annaJID+`', `+value(c.picture, "https://pps.whatsapp.net/x")+`, `+value(c.attributes, "{}")+`)`,
			`INSERT INTO "Auth" VALUES (1, 'good for anna', 1)`,
			`INSERT INTO "Webhook" VALUES (1, `+value(c.url, "https://example.com/")+`, 1, '{}', `+value(c.headers, "{}")+`, 1)`,
			`INSERT INTO "Message" VALUES (1, 'K', '4915100000001@s.whatsapp.net', 0, 'conversation', `+value(c.content, `{"text":"x"}`)+`, 1700000000, 1)`,
		))
		o.Messages = true
		all, _ := accounts(t, o)
		anna := all["anna"]
		if anna == nil {
			t.Fatalf("%s: %v", name, all)
		}
		if left := strings.Join(anna.Left, "\n"); !strings.Contains(left, c.want) {
			t.Errorf("%s: %.500s; want %q", name, left, c.want)
		}
	}
}
