package sends

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// TestLimitsCountPosts: posts and reactions to posts count like messages, and a newsletter is no new contact. Of what
// is over the limit not even the file is fetched.
func TestLimitsCountPosts(t *testing.T) {
	t.Parallel()
	s := newChannel(t, "owner")
	limited := limited{s, t}
	limited.set(`{"perHour":4,"newContactsPerDay":1}`)
	path := s.Fill("/instance/$name/send/")
	ask := func(route, body string) string {
		t.Helper()
		return fmt.Sprint(s.PostJSON(t, path+route, body).Status)
	}
	for i, c := range []struct{ route, body, want string }{
		{"text", `{"number":"$bread","textMessage":{"text":"fresh"}}`, "200"},
		{"media", `{"number":"$bread","mediaMessage":{"mediatype":"image","media":"$files/photo.jpg"}}`, "200"},
		{"reaction", `{"number":"$bread","reactionMessage":{"serverId":100,"reaction":"🍞"}}`, "202"},
	} {
		if got := ask(c.route, c.body); got != c.want {
			t.Errorf("%s: %s, want %s", c.route, got, c.want)
		}
		u := limited.uses()
		if *u.PerHour != (use{4, int64(i + 1)}) || *u.NewContactsPerDay != (use{1, 0}) {
			t.Errorf("after %s: %+v, %+v", c.route, u.PerHour, u.NewContactsPerDay)
		}
	}
	if got := limited.text(rig.AnneNumber, "hello"); got != "200" { // the limit is one for all chats
		t.Errorf("to Anne: %s", got)
	}
	fetched := s.Fetched("/photo.jpg")
	for route, body := range map[string]string{
		"text":     `{"number":"$bread","textMessage":{"text":"one more"}}`,
		"media":    `{"number":"$bread","mediaMessage":{"mediatype":"image","media":"$files/photo.jpg"}}`,
		"reaction": `{"number":"$bread","reactionMessage":{"serverId":101,"reaction":"🍞"}}`,
	} {
		a := s.PostJSON(t, path+route, body)
		refused(t, a, http.StatusTooManyRequests, "INSTANCE_LIMIT")
		if a.Header.Get("Retry-After") == "" || !strings.Contains(string(a.Body), "perHour") {
			t.Errorf("%s over the limit: %v %s", route, a.Header, a.Body)
		}
	}
	if n := len(postsSeenBy(t, s, "$anne")); n != 2 || s.Fetched("/photo.jpg") != fetched {
		t.Errorf("%d posts, the file was fetched %d times instead of %d", n, s.Fetched("/photo.jpg"), fetched)
	}
}

// TestKeyPostsOnlyToNewslettersItNames: everything by which a key sends to a newsletter, now or later. A refused
// request asks WhatsApp nothing and fetches nothing.
func TestKeyPostsOnlyToNewslettersItNames(t *testing.T) {
	t.Parallel()
	s := newChannel(t, "owner")
	s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"number":"$bread","textMessage":{"text":"fersh"}}`), `{}`)
	second := s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"number":"$bread","textMessage":{"text":"stale"}}`), `{}`)
	key := func(recipient string) string {
		var made struct{ Key string }
		s.Call(consumer.Key(s.Sec.GlobalAuthToken), http.MethodPost, "/keys", map[string]any{
			"name": "baker", "scopes": []string{"send", "media"}, "instances": []string{rig.SceneName}, "recipients": []string{recipient},
		}, &made)
		return made.Key
	}
	ask := func(key, method, path, body string) (int, string) {
		t.Helper()
		return s.Raw(consumer.Bearer(key), method, s.Fill("/instance/$name/"+path), s.Fill(body))
	}
	baker, friend := key(breadChannel), key(rig.AnneNumber)
	text := `{"number":"$bread","textMessage":{"text":"x"}`
	rows := []struct {
		method, path, body string
		want               int
	}{
		{http.MethodPost, "send/text", text + `}`, 200},
		{http.MethodPost, "send/text", text + `,"options":{"sendAt":"` + soon(time.Hour) + `"}}`, 202},
		{http.MethodPost, "send/media", `{"chat":"$bread","mediaMessage":{"mediatype":"image","media":"$files/photo.jpg"}}`, 200},
		{http.MethodPost, "send/reaction", `{"number":"$bread","reactionMessage":{"serverId":100,"reaction":"🍞"}}`, 202},
		{http.MethodPost, "send/reaction", fmt.Sprintf(`{"reactionMessage":{"key":{"remoteJid":"$bread","id":%q,"fromMe":true},"reaction":"🍞"}}`, second.KeyID), 202},
		{http.MethodPost, "chat/edit-message", fmt.Sprintf(`{"messageId":%d,"text":"crisp"}`, second.ID), 200},
		{http.MethodDelete, "chat/delete-message?id=" + fmt.Sprint(second.ID), "", 204},
	}
	for _, r := range rows {
		if status, answer := ask(friend, r.method, r.path, r.body); status != http.StatusForbidden || !strings.Contains(answer, "RECIPIENT_NOT_ALLOWED") {
			t.Errorf("without the newsletter: %s %s: %d %s", r.path, r.body, status, answer)
		}
	}
	if n := s.Fetched("/photo.jpg"); n != 0 || len(postsSeenBy(t, s, "$anne")) != 2 || scheduled(t, s) != 0 {
		t.Errorf("refused requests fetched %d files, left posts, or are scheduled", n)
	}
	for _, r := range rows {
		if status, answer := ask(baker, r.method, r.path, r.body); status != r.want {
			t.Errorf("with the newsletter: %s %s: %d %s, want %d", r.path, r.body, status, answer, r.want)
		}
	}
	if status, answer := ask(baker, http.MethodPost, "send/text", `{"number":"$anne","textMessage":{"text":"x"}}`); status != http.StatusForbidden {
		t.Errorf("the baker writes to Anne: %d %s", status, answer)
	}
}
