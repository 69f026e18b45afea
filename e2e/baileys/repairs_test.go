package baileys

import (
	"fmt"
	"net/http"
	"testing"

	"postern/e2e/rig"
	"postern/event"
)

func TestUnreadableMessageIsSentAgain(t *testing.T) {
	t.Parallel()
	k := talking(t)
	seen := k.b.seen()
	k.Do(t, rig.Act("$own", `{"do":"undecryptable","to":"$anne","text":"second attempt"}`).As("m"))
	k.b.event(seen, "messages.upsert", k.Fill(`{"messages":{"key":{"id":"$m.id"},"messageStubType":2}}`))
	k.b.event(seen, "messages.upsert", k.Fill(`{"messages":{"key":{"id":"$m.id"},"message":{"conversation":"second attempt"}}}`))
}

func TestPresenceAndTypingBothWays(t *testing.T) {
	t.Parallel()
	k := talking(t)
	_, got := k.posts(t, "/instance/$name/send/text", `{"number":"$anne","textMessage":{"text":"hello"}}`, `"message":{"conversation":"hello"}`)
	k.b.call(nil, "presenceSubscribe", got.Key.RemoteJID)
	seen := k.b.seen()
	if a := k.PostJSON(t, k.Fill("/instance/$name/chat/presence"), `{"chat":"$anne","presence":"composing"}`); a.Status >= http.StatusBadRequest {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	k.b.event(seen, "presence.update", fmt.Sprintf(`{"id":%q,"presences":{%[1]q:{"lastKnownPresence":"composing"}}}`, got.Key.RemoteJID))
	from := len(k.Webhooks())
	k.b.call(nil, "sendPresenceUpdate", "composing", got.Key.RemoteJID)
	k.AwaitEvent(t, from, event.PresenceUpdated, `{"state":"composing"}`)
}
