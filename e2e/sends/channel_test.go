package sends

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

const (
	breadChannel = "120363000000000009@newsletter"
	joinBread    = `{"do":"newsletter-join","newsletter":"` + breadChannel + `","name":"Bread","role":%q}`
)

// newChannel is a scene whose account has a role in a newsletter that Anne follows.
func newChannel(t *testing.T, role string, env ...string) *rig.SendScene {
	t.Helper()
	s := rig.NewSendScene(t, env...)
	s.Vars["bread"] = breadChannel
	s.Do(t, rig.Act("$own", fmt.Sprintf(joinBread, role)))
	s.Do(t, rig.Act("$anne", fmt.Sprintf(joinBread, "")))
	return s
}

type readPost struct {
	ServerID        int
	ID              string
	Edited, Deleted bool
	Message         json.RawMessage
	Reactions       []struct {
		Emoji string
		Count int
	}
}

// postsSeenBy returns the posts as a phone of the newsletter sees them, newest first.
func postsSeenBy(t *testing.T, s *rig.SendScene, phone string) []readPost {
	t.Helper()
	s.Do(t, rig.Act(phone, `{"do":"newsletter-view","newsletter":"$bread"}`).As("view"))
	var view struct{ Posts []readPost }
	if err := json.Unmarshal([]byte(s.Vars["view.*"]), &view); err != nil {
		t.Fatal(err)
	}
	return view.Posts
}

// holdsPost compares the newest post that Anne sees.
func holdsPost(t *testing.T, s *rig.SendScene, id, want string) readPost {
	t.Helper()
	posts := postsSeenBy(t, s, "$anne")
	if len(posts) == 0 {
		t.Fatal("there is no post")
	}
	var got, wanted any
	if err := json.Unmarshal([]byte(s.Fill(want)), &wanted); err != nil {
		t.Fatal(err)
	}
	if json.Unmarshal(posts[0].Message, &got) != nil || posts[0].ID != id || !rig.Holds(got, wanted) {
		t.Errorf("the newest post is %s %s, want %s %s", posts[0].ID, posts[0].Message, id, want)
	}
	return posts[0]
}

func TestPostsReachReadersOfTheChannel(t *testing.T) {
	t.Parallel()
	s := newChannel(t, "admin")
	for i, c := range []struct{ route, body, answer, post string }{
		{"text", `"textMessage":{"text":"fresh"}`, `"messageType":"conversation"`, `{"conversation":"fresh"}`},
		{"link", `"linkMessage":{"link":"https://example.org/","title":"Bread","description":"fresh"}`, `"messageType":"extendedTextMessage"`, `{"extendedTextMessage":{"matchedText":"https://example.org/","title":"Bread"}}`},
		{"media", `"mediaMessage":{"mediatype":"image","media":"$files/photo.jpg","caption":"a loaf"}`, `"messageType":"imageMessage"`, `{"imageMessage":{"caption":"a loaf","directPath":"*","fileSHA256":"*","mediaKey":"<absent>","fileEncSHA256":"<absent>"}}`},
		{"media", `"mediaMessage":{"mediatype":"document","media":"$files/tone.wav","fileName":"tone.wav"}`, `"messageType":"documentMessage"`, `{"documentMessage":{"fileName":"tone.wav","mediaKey":"<absent>"}}`},
		{"ptt", `"audioMessage":{"audio":"$files/note.ogg"}`, `"messageType":"audioMessage"`, `{"audioMessage":{"PTT":true,"mediaKey":"<absent>"}}`},
		{"sticker", `"stickerMessage":{"sticker":"$files/sticker.webp"}`, `"messageType":"stickerMessage"`, `{"stickerMessage":{"mediaKey":"<absent>"}}`},
		{"poll", `"pollMessage":{"name":"Which?","options":["rye","wheat"],"selectableCount":1}`, `"messageType":"pollCreationMessage"`, `{"pollCreationMessage":{"name":"Which?"}}`},
	} {
		from := len(s.Webhooks())
		a := s.PostJSON(t, s.Fill("/instance/$name/send/"+c.route), `{"number":"$bread",`+c.body+`,"options":{"externalAttributes":{"order":7}}}`)
		m := s.Sent(t, from, a, `{"keyRemoteJid":"$bread","keyFromMe":true,"isGroup":false,`+c.answer+`,"externalAttributes":{"order":7},"metadata":{"serverId":`+fmt.Sprint(100+i)+`}}`)
		post := holdsPost(t, s, m.KeyID, c.post)
		if strings.Contains(string(post.Message), "messageContextInfo") || strings.Contains(string(post.Message), "expiration") {
			t.Errorf("the post has a secret or a timer: %s", post.Message)
		}
		if strings.Contains(string(post.Message), "directPath") { // the file is there for everybody who reads
			got := s.PostJSON(t, s.Fill("/instance/$name/media/data"), fmt.Sprintf(`{"messageId":%d}`, m.ID))
			if got.Status != http.StatusOK || !strings.Contains(string(got.Body), `"base64"`) {
				t.Errorf("its file: %d %.200s", got.Status, got.Body)
			}
		}
	}
}

func TestFileOfAnUploadIsPosted(t *testing.T) {
	t.Parallel()
	s := newChannel(t, "owner")
	up := s.PostJSON(t, s.Fill("/instance/$name/media/uploads"), `{"mediaType":"image","media":"$files/photo.jpg"}`)
	var upload struct{ ID int64 }
	if err := json.Unmarshal(up.Body, &upload); err != nil || upload.ID == 0 {
		t.Fatalf("%d %s", up.Status, up.Body)
	}
	a := s.PostJSON(t, s.Fill("/instance/$name/send/media"), `{"number":"$bread","mediaMessage":{"mediatype":"image","mediaUploadId":`+fmt.Sprint(upload.ID)+`,"caption":"again"}}`)
	m := s.Sent(t, 0, a, `{"messageType":"imageMessage"}`)
	holdsPost(t, s, m.KeyID, `{"imageMessage":{"caption":"again","mediaKey":"<absent>"}}`)
	a = s.PostJSON(t, s.Fill("/instance/$name/send/media"), fmt.Sprintf(`{"number":"$bread","mediaMessage":{"mediatype":"image","messageId":%d,"caption":"once more"}}`, m.ID))
	m = s.Sent(t, 0, a, `{"messageType":"imageMessage"}`)
	holdsPost(t, s, m.KeyID, `{"imageMessage":{"caption":"once more","mediaKey":"<absent>"}}`)
}

func TestSubscriberPostsNothing(t *testing.T) {
	t.Parallel()
	s := newChannel(t, "")
	for route, body := range map[string]string{
		"text":  `"textMessage":{"text":"fresh"}`,
		"media": `"mediaMessage":{"mediatype":"image","media":"$files/photo.jpg"}`,
		"poll":  `"pollMessage":{"name":"Which?","options":["rye","wheat"],"selectableCount":1}`,
	} {
		refused(t, s.PostJSON(t, s.Fill("/instance/$name/send/"+route), `{"number":"$bread",`+body+`}`), http.StatusUnprocessableEntity, "NOT_NEWSLETTER_ADMIN")
	}
	if n := len(postsSeenBy(t, s, "$own")) + s.Fetched("/photo.jpg"); n != 0 {
		t.Errorf("%d posts and fetched files", n)
	}
}

func TestPostTakesNoOptionsOfChats(t *testing.T) {
	t.Parallel()
	s := newChannel(t, "owner")
	text := `"textMessage":{"text":"fresh"}`
	for body, field := range map[string]string{
		text + `,"options":{"quotedMessageId":1}`: "quotedMessageId",
		text + `,"options":{"quotedMessage":{"key":{"remoteJid":"$bread","id":"A"},"message":{"conversation":"x"}}}`: "quotedMessage",
		text + `,"options":{"mentions":["$anne"]}`:                                        "mentions",
		text + `,"options":{"mentionAll":true}`:                                           "mentionAll",
		`"mediaMessage":{"mediatype":"image","media":"$files/photo.jpg","viewOnce":true}`: "viewOnce",
	} {
		route := "text"
		if strings.Contains(body, "mediaMessage") {
			route = "media"
		}
		a := s.PostJSON(t, s.Fill("/instance/$name/send/"+route), `{"number":"$bread",`+body+`}`)
		refused(t, a, http.StatusUnprocessableEntity, "INVALID_MESSAGE")
		if !strings.Contains(string(a.Body), field) {
			t.Errorf("%s: the error does not name %s: %s", body, field, a.Body)
		}
	}
	for route, body := range map[string]string{
		"location": `"locationMessage":{"latitude":52.5,"longitude":13.4}`,
		"contact":  `"contactMessage":[{"fullName":"Ada","phoneNumber":"4915187654321"}]`,
	} {
		refused(t, s.PostJSON(t, s.Fill("/instance/$name/send/"+route), `{"number":"$bread",`+body+`}`), http.StatusUnprocessableEntity, "INVALID_MESSAGE")
	}
	if n := len(postsSeenBy(t, s, "$own")) + s.Fetched("/photo.jpg"); n != 0 {
		t.Errorf("%d posts and fetched files", n)
	}
}

func TestPostIsEditedAndDeleted(t *testing.T) {
	t.Parallel()
	s := newChannel(t, "owner")
	a := s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"number":"$bread","textMessage":{"text":"fersh"}}`)
	m := s.Sent(t, 0, a, `{}`)
	from := len(s.Webhooks())
	a = s.PostJSON(t, s.Fill("/instance/$name/chat/edit-message"), fmt.Sprintf(`{"messageId":%d,"text":"fresh"}`, m.ID))
	s.Sent(t, from, a, fmt.Sprintf(`{"id":%d,"keyId":%q,"content":{"text":"fresh"},"metadata":{"edited":true,"editOf":%q,"serverId":100}}`, m.ID, m.KeyID, m.KeyID))
	stored := func() string {
		return string(s.PostJSON(t, s.Fill("/instance/$name/db/messages"), s.Fill(`{"filter":{"keyRemoteJid":"$bread"}}`)).Body)
	}
	if all := stored(); strings.Count(all, `"keyId"`) != 1 || !strings.Contains(all, `"text":"fresh"`) {
		t.Errorf("stored are %s", all)
	}
	if post := holdsPost(t, s, m.KeyID, `{"conversation":"fresh"}`); !post.Edited {
		t.Errorf("%+v", post)
	}
	if a = s.Request(t, http.MethodDelete, s.Fill("/instance/$name/chat/delete-message?id=")+fmt.Sprint(m.ID), "application/json", nil); a.Status != http.StatusNoContent {
		t.Fatalf("delete: %d %s", a.Status, a.Body)
	}
	if posts := postsSeenBy(t, s, "$anne"); len(posts) != 1 || !posts[0].Deleted {
		t.Errorf("%+v", posts)
	}
	s.AwaitEvent(t, from, event.SendMessage, fmt.Sprintf(`{"messageType":"protocolMessage","metadata":{"revoked":%q}}`, m.KeyID))
	if all := stored(); strings.Count(all, `"keyId"`) != 1 || !strings.Contains(all, `"text":"fresh"`) {
		t.Errorf("after the deletion stored are %s", all)
	}
}

// deletedOnce checks that all events until now have one deletion of a message.
func deletedOnce(t *testing.T, s *rig.SendScene, keyID string) {
	t.Helper()
	s.Do(t, rig.Act("$anne", `{"do":"newsletter-message","newsletter":"$bread","text":"after it"}`).As("after"))
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"keyId":"$after.id"}`)
	n := 0
	for _, r := range s.Webhooks() {
		if strings.Contains(string(r.Body), fmt.Sprintf(`"revoked":%q`, keyID)) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d deletions of %s are reported", n, keyID)
	}
}

// TestRepeatedDeletionIsReportedOnce, of a post, of a text to Anne, and of a post of another admin.
func TestRepeatedDeletionIsReportedOnce(t *testing.T) {
	t.Parallel()
	s := newChannel(t, "owner")
	remove := func(m rig.SentMessage) {
		t.Helper()
		a := s.Request(t, http.MethodDelete, s.Fill("/instance/$name/chat/delete-message?id=")+fmt.Sprint(m.ID), "application/json", nil)
		if a.Status != http.StatusNoContent {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	for _, to := range []string{"$bread", "$anne"} {
		m := s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"number":"`+to+`","textMessage":{"text":"stale"}}`), `{}`)
		remove(m)
		s.AwaitEvent(t, 0, event.SendMessage, fmt.Sprintf(`{"metadata":{"revoked":%q}}`, m.KeyID))
		remove(m)
		deletedOnce(t, s, m.KeyID)
	}
	s.Do(t, rig.Act("$anne", `{"do":"newsletter-message","newsletter":"$bread","text":"stale"}`).As("post"))
	received := s.AwaitEvent(t, 0, event.MessagesUpsert, `{"keyId":"$post.id"}`)
	var stored struct{ Data rig.SentMessage }
	if err := json.Unmarshal(received, &stored); err != nil {
		t.Fatal(err)
	}
	remove(stored.Data)
	s.AwaitEvent(t, 0, event.SendMessage, `{"metadata":{"revoked":"$post.id"}}`)
	remove(stored.Data)
	deletedOnce(t, s, stored.Data.KeyID)
}

// TestReceivedEditChangesThePost whose id it has, and its event has the new text.
func TestReceivedEditChangesThePost(t *testing.T) {
	t.Parallel()
	s := newChannel(t, "")
	s.Do(t, rig.Act("$anne", `{"do":"newsletter-message","newsletter":"$bread","text":"stale"}`).As("post"))
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"keyId":"$post.id","content":{"text":"stale"}}`)
	s.Do(t, rig.Act("$anne", `{"do":"newsletter-message","newsletter":"$bread","text":"crisp","id":"$post.id"}`))
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"keyId":"$post.id","content":{"text":"crisp"},"metadata":{"edited":true,"editOf":"$post.id"}}`)
	all := string(s.PostJSON(t, s.Fill("/instance/$name/db/messages"), s.Fill(`{"filter":{"keyRemoteJid":"$bread"}}`)).Body)
	if strings.Contains(all, "stale") || !strings.Contains(all, "crisp") {
		t.Errorf("stored are %s", all)
	}
}

// TestPostsBeyondALongestPage are found by its cursor.
func TestPostsBeyondALongestPage(t *testing.T) {
	t.Parallel()
	s := newChannel(t, "")
	for i := range 101 {
		s.Do(t, rig.Act("$anne", fmt.Sprintf(`{"do":"newsletter-message","newsletter":"$bread","text":"post %d"}`, i)))
	}
	seen, next := 0, ""
	for range 3 {
		var l struct {
			NextCursor *string
			Records    []event.ChannelPost
		}
		s.Call(consumer.Bearer(s.Token), http.MethodGet, s.Fill("/instance/$name/newsletter/messages?newsletterJid=$bread&limit=100"+next), nil, &l)
		if seen += len(l.Records); l.NextCursor == nil {
			break
		}
		next = "&before=" + *l.NextCursor
	}
	if seen != 101 {
		t.Errorf("the pages have %d posts of 101", seen)
	}
}

func TestReactionToAPostIsAnswered202(t *testing.T) {
	t.Parallel()
	s := newChannel(t, "") // a reader may react
	s.Do(t, rig.Act("$anne", `{"do":"newsletter-message","newsletter":"$bread","text":"two"}`))
	received := s.AwaitEvent(t, 0, event.MessagesUpsert, `{"keyRemoteJid":"$bread"}`)
	var stored struct {
		Data struct {
			ID    int64
			KeyID string
		}
	}
	if err := json.Unmarshal(received, &stored); err != nil {
		t.Fatal(err)
	}
	key := fmt.Sprintf(`"key":{"remoteJid":"$bread","id":%q,"fromMe":false}`, stored.Data.KeyID)
	react := func(message, more string) rig.Answer {
		return s.PostJSON(t, s.Fill("/instance/$name/send/reaction"), `{`+more+`"reactionMessage":{`+message+`}}`)
	}
	emoji := func(want string) {
		t.Helper()
		s.Await("the reaction "+want, func() bool {
			posts := postsSeenBy(t, s, "$anne")
			return want == "" && len(posts[0].Reactions) == 0 || len(posts[0].Reactions) == 1 && posts[0].Reactions[0].Emoji == want
		})
	}
	from := len(s.Webhooks())
	for _, c := range []struct{ message, more, want string }{
		{key + `,"reaction":"👍"`, "", "👍"},
		{`"serverId":100,"reaction":"🍞"`, `"number":"$bread",`, "🍞"},
		{`"serverId":100,"reaction":""`, `"chat":"$bread",`, ""},
	} {
		a := react(c.message, c.more)
		if a.Status != http.StatusAccepted || strings.TrimSpace(string(a.Body)) != `{"status":"sent"}` {
			t.Fatalf("%s: %d %s", c.message, a.Status, a.Body)
		}
		emoji(c.want)
	}
	refused(t, react(`"serverId":100,"reaction":"👍"`, `"number":"$anne",`), http.StatusUnprocessableEntity, "INVALID_MESSAGE")
	refused(t, react(`"serverId":-1,"reaction":"👍"`, `"number":"$bread",`), http.StatusUnprocessableEntity, "INVALID_MESSAGE")
	refused(t, react(`"reaction":"👍"`, `"number":"$bread",`), http.StatusBadRequest, "MISSING_FIELD")
	refused(t, react(`"reaction":"👍"`, `"number":"$anne",`), http.StatusBadRequest, "MISSING_FIELD")
	refused(t, react(`"key":{"remoteJid":"$bread","id":"UNKNOWN","fromMe":false},"reaction":"👍"`, ""), http.StatusNotFound, "MESSAGE_NOT_FOUND")
	refused(t, react(`"serverId":100,"reaction":"👍"`, `"number":"$bread","options":{"sendAt":"`+time.Now().Add(time.Hour).Format(time.RFC3339)+`"},`), http.StatusUnprocessableEntity, "INVALID_MESSAGE")
	for _, r := range s.Webhooks()[from:] {
		if r.Event == string(event.SendMessage) {
			t.Errorf("a reaction is an event: %s", r.Body)
		}
	}
}

func TestPostsOfAChannelAreListed(t *testing.T) {
	t.Parallel()
	s := newChannel(t, "owner")
	for i := range 5 {
		s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/text"), fmt.Sprintf(`{"number":"$bread","textMessage":{"text":"post %d"}}`, i)), `{}`)
	}
	s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/media"), `{"number":"$bread","mediaMessage":{"mediatype":"image","media":"$files/photo.jpg","caption":"a loaf"}}`), `{}`)
	s.Do(t, rig.Act("$anne", `{"do":"newsletter-react","newsletter":"$bread","serverId":105,"emoji":"🍞"}`))
	postsSeenBy(t, s, "$anne")
	type list struct {
		NextCursor *string
		Records    []event.ChannelPost
	}
	page := func(query string) (l list) {
		t.Helper()
		s.Call(consumer.Bearer(s.Token), http.MethodGet, s.Fill("/instance/$name/newsletter/messages?newsletterJid=$bread"+query), nil, &l)
		return l
	}
	var got []int
	next := ""
	for {
		l := page("&limit=4" + next)
		for _, p := range l.Records {
			got = append(got, p.ServerID)
		}
		if l.NextCursor == nil {
			break
		}
		next = "&before=" + *l.NextCursor
	}
	if fmt.Sprint(got) != "[105 104 103 102 101 100]" {
		t.Errorf("the pages have %v", got)
	}
	first := page("").Records[0]
	if first.Views < 1 || len(first.Reactions) != 1 || first.Reactions[0] != (event.ChannelReaction{Emoji: "🍞", Count: 1}) || first.Message == nil || first.Message.ID == nil || !first.Message.KeyFromMe || first.Message.MessageType != "imageMessage" {
		t.Fatalf("%+v", first)
	}
	body, err := json.Marshal(map[string]any{"messageType": first.Message.MessageType, "content": first.Message.Content})
	if err != nil {
		t.Fatal(err)
	}
	if a := s.PostJSON(t, s.Fill("/instance/$name/media/data"), string(body)); a.Status != http.StatusOK || !strings.Contains(string(a.Body), `"base64"`) {
		t.Errorf("the file of a listed post: %d %.200s", a.Status, a.Body)
	}
	for query, status := range map[string]int{"?newsletterJid=1@s.whatsapp.net": 422, "": 422, "?newsletterJid=$bread&limit=101": 400, "?newsletterJid=$bread&before=x": 400, "?newsletterJid=$bread&after=1": 400} {
		if a := s.Request(t, http.MethodGet, s.Fill("/instance/$name/newsletter/messages"+query), "", nil); a.Status != status {
			t.Errorf("%s: %d %s, want %d", query, a.Status, a.Body, status)
		}
	}
}

func TestRepeatedPostIsPublishedOnce(t *testing.T) {
	t.Parallel()
	s := newChannel(t, "owner")
	send := func() rig.KeyedAnswer {
		return s.MustWithKey(s.Token, "post-1", "/instance/"+rig.SceneName+"/send/text", rig.TextTo(breadChannel, "fresh", 0))
	}
	first, second := send(), send()
	if first.Status != http.StatusOK || first.Body != second.Body || !second.Replayed {
		t.Errorf("%s, then %s", first, second)
	}
	if n := len(postsSeenBy(t, s, "$own")); n != 1 {
		t.Errorf("%d posts", n)
	}
}
