package sends

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"postern/e2e/rig"
)

// shows compares what a GET answers.
func shows(t *testing.T, s *rig.SendScene, path, want string) {
	t.Helper()
	a := s.Request(t, http.MethodGet, s.Fill("/instance/$name/"+path), "", nil)
	var got, wanted any
	if json.Unmarshal(a.Body, &got) != nil || json.Unmarshal([]byte(s.Fill(want)), &wanted) != nil || a.Status != http.StatusOK || !rig.Holds(got, wanted) {
		t.Errorf("%s: %d %s, not %s", path, a.Status, a.Body, s.Fill(want))
	}
}

func put(t *testing.T, s *rig.SendScene, path, body string) rig.Answer {
	t.Helper()
	return s.Request(t, http.MethodPut, s.Fill("/instance/$name/"+path), "application/json", strings.NewReader(s.Fill(body)))
}

// TestProfileIsChangedInSteps also looks at what another person sees.
func TestProfileIsChangedInSteps(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	shows(t, s, "profile", `{"jid":"$own@s.whatsapp.net","lid":"$shopLID","pictureId":null,"pictureUrl":null}`)
	for _, body := range []string{
		`{}`, `{"name":""}`, `{"name":"` + strings.Repeat("n", 26) + `"}`, `{"about":"` + strings.Repeat("a", 140) + `"}`,
		`{"name":"Changed","picture":""}`, `{"name":"Changed","picture":"ftp://example.org/a.jpg"}`, `{"name":"Changed","picture":"$files/note.ogg"}`,
		`{"name":"Changed","picture":7}`,
	} {
		a := put(t, s, "profile", body)
		if names := !strings.Contains(body, "picture") || strings.Contains(string(a.Body), `["picture`) || strings.Contains(string(a.Body), " picture"); a.Status/100 != 4 || !names {
			t.Errorf("%.60s: %d %s", body, a.Status, a.Body)
		}
	}
	if a := s.Request(t, http.MethodGet, s.Fill("/instance/$name/profile"), "", nil); strings.Contains(string(a.Body), "Changed") {
		t.Errorf("a refused change changed the name: %s", a.Body)
	}
	a := put(t, s, "profile", `{"name":"Corner shop","about":"Open until six","picture":"$files/photo.jpg"}`)
	if a.Status != http.StatusOK || strings.Count(string(a.Body), `"ok":true`) != 3 || !strings.Contains(string(a.Body), `"pictureId":"`) {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	s.Await("the name", func() bool {
		return strings.Contains(string(s.Request(t, http.MethodGet, s.Fill("/instance/$name/profile"), "", nil).Body), `"name":"Corner shop"`)
	})
	shows(t, s, "profile", `{"name":"Corner shop","about":"Open until six"}`)
	if a := s.Request(t, http.MethodGet, s.Fill("/instance/$name/profile"), "", nil); strings.Contains(string(a.Body), `"pictureId":null`) {
		t.Errorf("no picture: %s", a.Body)
	}
	seen := s.PostJSON(t, s.Fill("/instance/$name/chat/user-info"), s.Fill(`{"numbers":["$own"]}`))
	if !strings.Contains(string(seen.Body), `"about":"Open until six"`) {
		t.Errorf("others see %s", seen.Body)
	}
	if a := put(t, s, "profile", `{"picture":null}`); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	shows(t, s, "profile", `{"pictureId":null,"pictureUrl":null}`)
}

func TestPrivacyIsSetAndShown(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	shows(t, s, "privacy", `{"groupAdd":"all","lastSeen":"all","status":"all","profile":"all","readReceipts":"all","online":"all","callAdd":"all"}`)
	a := put(t, s, "privacy", `{"lastSeen":"contacts","online":"match_last_seen","callAdd":"known"}`)
	if a.Status != http.StatusOK || !strings.Contains(string(a.Body), `"groupAdd":"all"`) {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	shows(t, s, "privacy", `{"groupAdd":"all","lastSeen":"contacts","readReceipts":"all","online":"match_last_seen","callAdd":"known"}`)
	for _, body := range []string{`{}`, `{"readReceipts":"contacts"}`, `{"online":"none"}`, `{"callAdd":"all","lastSeen":"contact_blacklist"}`} {
		if a := put(t, s, "privacy", body); a.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", body, a.Status, a.Body)
		}
	}
	shows(t, s, "privacy", `{"callAdd":"known"}`)
}
