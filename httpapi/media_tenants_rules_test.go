package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"postern/httpapi/operator"
	"postern/httpapi/rest"
)

// TestFileOfOtherInstanceIsNoFile: token and key of one instance get no file of another,
// neither by its id nor by its link's route, and the answer does not tell whether there is one.
func TestFileOfOtherInstanceIsNoFile(t *testing.T) {
	r, token, d := doing(t)
	id := r.keepFile(t, d, "P1", "imageMessage", aPNG, `{}`)
	if res := r.ask(token, "GET", fmt.Sprintf("/instance/a/messages/%d/media", id)); res.StatusCode != 200 {
		t.Fatal(res.StatusCode)
	}
	other := r.instance("b")
	key := decoded[struct{ Key string }](t, r.admin("POST", "/keys", `{"name":"k","instances":["b"],"scopes":["media","manage","send"]}`)).Key
	for name, credential := range map[string]string{"token": other, "key": key} {
		for _, c := range []struct{ method, path, body string }{
			{"GET", "/instance/%s/messages/%d/media", ""},
			{"HEAD", "/instance/%s/messages/%d/media", ""},
			{"DELETE", "/instance/%s/messages/%d/media", ""},
			{"POST", "/instance/%s/messages/%d/media/link", "{}"},
		} {
			var said []string
			for _, n := range []int64{id, 999} { // theirs, and none
				res := r.as(credential, c.method, fmt.Sprintf(c.path, "b", n), c.body)
				if res.StatusCode != http.StatusNotFound {
					t.Errorf("%s: %s %d: %d", name, c.method, n, res.StatusCode)
				}
				said = append(said, sayings(bodyOf(t, res)))
			}
			if said[0] != said[1] {
				t.Errorf("%s: %s tells them apart:\n%s\n%s", name, c.method, said[0], said[1])
			}
			said = nil
			for _, n := range []int64{id, 999} {
				res := r.as(credential, c.method, fmt.Sprintf(c.path, "a", n), c.body)
				if res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden {
					t.Errorf("%s: %s of a: %d", name, c.method, res.StatusCode)
				}
				said = append(said, sayings(bodyOf(t, res)))
			}
			if said[0] != said[1] {
				t.Errorf("%s: %s of a tells them apart:\n%s\n%s", name, c.method, said[0], said[1])
			}
		}
	}
	wantError(t, r.as(other, "POST", "/instance/b/send/media", fmt.Sprintf(`{"number":"4915155500009","mediaMessage":{"mediatype":"image","messageId":%d}}`, id)), 404, "MESSAGE_NOT_FOUND")
}

// sayings returns an answer without the number of its request.
func sayings(body string) string {
	before, _, _ := strings.Cut(body, `"requestId"`)
	return before
}

// TestLinksEndWithTheirInstance: a new instance of the same name does not serve them.
func TestLinksEndWithTheirInstance(t *testing.T) {
	r, token, d := doing(t)
	id := r.keepFile(t, d, "P1", "imageMessage", aPNG, `{}`)
	path, _ := r.mediaLink(t, token, id, ``)
	if res := r.ask("", "GET", path); res.StatusCode != 200 {
		t.Fatal(res.StatusCode)
	}
	if res := r.as(token, "DELETE", "/instance/a?force=true", ""); res.StatusCode != 200 {
		t.Fatal(res.StatusCode)
	}
	again := r.instance("a")
	wantError(t, r.ask("", "GET", path), 404, rest.CodeNotFound)
	wantError(t, r.as(again, "GET", fmt.Sprintf("/instance/a/messages/%d/media", id), ""), 404, "MESSAGE_NOT_FOUND")
	if res := r.ask(token, "GET", fmt.Sprintf("/instance/a/messages/%d/media", id)); res.StatusCode != 401 {
		t.Errorf("the former token: %d", res.StatusCode)
	}
}

// TestMediaCallsAreAudited: revocations of links, and deletions of kept files.
func TestMediaCallsAreAudited(t *testing.T) {
	r, token, d := doing(t)
	id := r.keepFile(t, d, "P1", "imageMessage", aPNG, `{}`)
	for _, c := range []struct{ method, path string }{
		{"POST", "/instance/a/media/revoke-links"}, {"DELETE", fmt.Sprintf("/instance/a/messages/%d/media", id)},
	} {
		if res := r.as(token, c.method, c.path, ""); res.StatusCode >= 300 {
			t.Fatal(res.StatusCode)
		}
	}
	for _, action := range []string{"media.revoke", "media.delete"} {
		list := decoded[operator.AuditList](t, r.admin("GET", "/audit?subject=a&actor=instance:a&action="+action, ""))
		if len(list.Records) != 1 || list.Records[0].Action != action {
			t.Errorf("%s: %+v", action, list.Records)
		}
	}
}
