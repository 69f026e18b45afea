package settings

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// page is a page of a chat's messages.
type page struct {
	NextCursor, PreviousCursor *string
	TotalRecords               *int
	Records                    []struct {
		ID               int64
		KeyID            string
		MessageTimestamp int64
		KeyFromMe        bool
		Content          struct{ Text string }
		Metadata         struct{ Source string }
	}
}

func (s scene) chat(t *testing.T, chat, query string) (p page) {
	t.Helper()
	s.Call(consumer.Bearer(s.Token), http.MethodGet, "/instance/"+rig.SceneName+"/chats/"+url.PathEscape(s.Fill(chat))+"/messages"+query, nil, &p)
	return p
}

// whole returns the texts of all pages, the newest first.
func (s scene) whole(t *testing.T, chat string) (all []string) {
	t.Helper()
	for query := "?limit=7"; ; {
		p := s.chat(t, chat, query)
		for _, m := range p.Records {
			all = append(all, m.Content.Text)
			if past := strings.HasPrefix(m.Content.Text, "past"); past != (m.Metadata.Source == "history") {
				t.Errorf("%q has the source %q", m.Content.Text, m.Metadata.Source)
			}
		}
		if p.NextCursor == nil {
			return all
		}
		query = "?limit=7&nextCursor=" + *p.NextCursor
	}
}

// pastTexts returns the texts of the act past, the newest first.
func pastTexts(from, to int) (all []string) {
	for i := from; i <= to; i++ {
		all = append(all, fmt.Sprintf("past %d", i))
	}
	return all
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%s: %q\nwant %q", what, got, want)
	}
}

func TestWithoutASettingNoHistoryIsStored(t *testing.T) {
	s := scene{rig.NewScene(t)}
	s.Do(t, rig.Act("$own", `{"do":"past","with":"$anne","messages":30}`))
	s.Online(t)
	s.AwaitEvent(t, 0, event.HistorySync, `{"data":{"syncType":"RECENT","messages":30,"stored":"<absent>"}}`)
	if got := s.whole(t, "$anne"); len(got) != 0 {
		t.Errorf("stored: %q", got)
	}
	s.Stop()
}

func TestRequestedHistoryIsReportedOnce(t *testing.T) {
	s := scene{rig.NewScene(t)}
	// One every half day, the newest yesterday: 200 days of it.
	s.Do(t, rig.Act("$own", `{"do":"past","with":"$anne","messages":400,"every":43200}`))
	s.Do(t, rig.Act("$own", `{"do":"past","with":"120363012345678901@g.us","messages":3,"sender":"$bob"}`))
	s.Do(t, rig.Act("$own", `{"do":"past","with":"$bob","messages":3,"text":"ignored"}`))
	s.settle(t, `{"history":{"days":150},"ignore":{"jids":["$bob"]}}`)
	s.Online(t)
	s.AwaitEvent(t, 0, event.HistorySync, `{"data":{"syncType":"FULL"}}`)
	// The newest is one day old, so that 149 days have two messages each.
	got := s.whole(t, "$anneLID")
	if len(got) < 297 || len(got) > 299 {
		t.Errorf("%d messages are stored of 150 days", len(got))
	}
	same(t, "the chat", got, pastTexts(1, len(got)))
	if n := len(s.whole(t, "120363012345678901@g.us")) + len(s.whole(t, "$bob")); n != 0 {
		t.Errorf("%d messages of the group and of the ignored chat", n)
	}
	if n := s.Seen(string(event.MessagesUpsert)); n != 0 {
		t.Errorf("%d messages of the past were reported", n)
	}
	s.restart(t)
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"now"}`))
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"content":{"text":"now"},"metadata":null}`)
	same(t, "the chat after a restart", s.whole(t, "$anne"), append([]string{"now"}, got...))
	if p := s.chat(t, "$anne", ""); p.TotalRecords == nil || *p.TotalRecords != len(got)+1 || len(p.Records) != 50 {
		t.Errorf("a page has %d of %v", len(p.Records), p.TotalRecords)
	}
	var chats struct {
		Records []struct {
			LastMessage struct{ Content struct{ Text string } }
		}
	}
	s.Call(consumer.Bearer(s.Token), http.MethodGet, "/instance/"+rig.SceneName+"/chats", nil, &chats)
	if len(chats.Records) != 1 || chats.Records[0].LastMessage.Content.Text != "now" {
		t.Errorf("the chats: %+v", chats)
	}
	s.Stop()
}

func TestOlderMessagesAreRequestedFromThePhone(t *testing.T) {
	s := newScene(t)
	ask := func(body string) (code string) {
		t.Helper()
		err := s.API.Call(t.Context(), consumer.Bearer(s.Token), http.MethodPost, "/instance/"+rig.SceneName+"/chat/history", json.RawMessage(s.Fill(body)), nil)
		if err != nil {
			return err.Error()
		}
		return "accepted"
	}
	if got := ask(`{"chat":"$anne"}`); !strings.Contains(got, "409") || !strings.Contains(got, "NO_ANCHOR") {
		t.Errorf("without a message: %s", got)
	}
	s.Do(t, rig.Act("$own", `{"do":"past","with":"$anne","messages":30}`))
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"now","id":"NOW"}`))
	s.Do(t, rig.Act("$bob", `{"do":"text","to":"$own","text":"from Bob","id":"BOB"}`))
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"keyId":"NOW"}`)
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"keyId":"BOB"}`)
	for n, step := range []struct {
		body string
		want int
	}{
		{`{"chat":"$anne","count":10}`, 10},
		{`{"chat":"$anneLID","count":15}`, 25},
		{`{"chat":"$anne","before":"NOW","count":12}`, 25}, // known already
		{`{"chat":"$anne","count":500}`, 30},
	} {
		from := len(s.Webhooks())
		if got := ask(step.body); got != "accepted" {
			t.Fatal(got)
		}
		s.AwaitEvent(t, from, event.HistorySync, `{"data":{"syncType":"ON_DEMAND","stored":"*"}}`)
		same(t, fmt.Sprint("after step ", n), s.whole(t, "$anne"), append([]string{"now"}, pastTexts(1, step.want)...))
	}
	if got := ask(`{"chat":"$anne","before":"BOB"}`); !strings.Contains(got, "404") {
		t.Errorf("before a message of another chat: %s", got)
	}
	if n := s.reportedText("past"); n != 0 {
		t.Errorf("%d messages of the past were reported", n)
	}
	s.settle(t, `{"ignore":{"jids":["$anneLID"]}}`)
	if got := ask(`{"chat":"$anne"}`); !strings.Contains(got, "422") {
		t.Errorf("of an ignored chat: %s", got)
	}
	s.Stop()
	if err := s.API.Call(t.Context(), consumer.Bearer(s.Token), http.MethodGet, "/health", nil, nil); err == nil {
		t.Error("the program still runs")
	}
}

// TestAPieceOfHistoryOutlivesKills kills the program while it reads one, again
// and again.
func TestAPieceOfHistoryOutlivesKills(t *testing.T) {
	s := scene{rig.NewScene(t)}
	const messages = 19_000
	s.settle(t, `{"history":{"days":365}}`)
	s.Do(t, rig.Act("$own", fmt.Sprintf(`{"do":"past","with":"$anne","messages":%d,"every":1}`, messages)))
	s.Online(t)
	total := func() int {
		var p page
		err := s.API.Call(t.Context(), consumer.Bearer(s.Token), http.MethodGet, "/instance/"+rig.SceneName+"/chats/"+rig.AnneNumber+"/messages?limit=1", nil, &p)
		switch {
		case err != nil:
			return 0
		case p.TotalRecords == nil:
			return -1
		}
		return *p.TotalRecords
	}
	kills, before := 0, 0
	for ; kills < 4; kills++ {
		before = total()
		s.Await("some more", func() bool { return total() > before || s.pieces() > 1 })
		if s.pieces() > 1 {
			break
		}
		s.Kill()
		s.Start()
		s.Online(t)
	}
	if kills == 0 {
		t.Error("the history was read before the first kill; make it larger")
	}
	s.Await("all messages", func() bool { return total() == messages })
	s.restart(t)
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"now"}`))
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"content":{"text":"now"}}`)
	if got := total(); got != messages+1 {
		t.Errorf("%d messages are stored", got)
	}
	// A piece is reported again when a kill came between its report and its
	// forgetting, and only then.
	if n := s.pieces(); n > 2+kills {
		t.Errorf("history.sync was reported %d times of two pieces, over %d kills", n, kills)
	}
	s.Stop()
}

// TestFailedHistoryDownloadIsReportedLater and carries the request id of the
// call that asked for it, whatever was in between.
func TestFailedHistoryDownloadIsReportedLater(t *testing.T) {
	s := newScene(t)
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"now","id":"NOW"}`))
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"keyId":"NOW"}`)
	s.Do(t, rig.Act("$own", `{"do":"past","with":"$anne","messages":30,"blob":true}`))
	s.Do(t, rig.Step{Method: http.MethodPost, Path: "/sandbox/faults", Body: `{"mediaError":500}`})
	s.ask(t, `{"chat":"$anne","count":20}`, "asked-for-history")
	s.Await("the download is refused", func() bool { return s.Sandbox.MediaRefused() > 0 })
	before := s.Sandbox.MediaRefused()
	s.restart(t) // by a kill
	s.Await("it is tried again", func() bool { return s.Sandbox.MediaRefused() > before })
	if n := s.pieces(); n != 0 {
		t.Fatalf("%d pieces were reported that were unreadable", n)
	}
	s.Do(t, rig.Step{Method: http.MethodPost, Path: "/sandbox/faults", Body: `{}`})
	s.Do(t, rig.Route(http.MethodPost, "/instance/$name/restart", "")) // the next login tries again
	s.AwaitEvent(t, 0, event.HistorySync, `{"data":{"syncType":"ON_DEMAND","messages":20,"stored":20}}`)
	same(t, "the chat", s.whole(t, "$anne"), append([]string{"now"}, pastTexts(1, 20)...))
	if got := s.requestIDs(event.HistorySync); len(got) != 1 || got[0] != "asked-for-history" {
		t.Errorf("history.sync carries the request ids %q", got)
	}
	s.Stop()
}

// TestHistoryEventCarriesTheRequestID, each its own.
func TestHistoryEventCarriesTheRequestID(t *testing.T) {
	s := newScene(t)
	for _, who := range []string{"anne", "bob"} {
		s.Do(t, rig.Act("$own", `{"do":"past","with":"$`+who+`","messages":5}`))
		s.Do(t, rig.Act("$"+who, `{"do":"text","to":"$own","text":"now","id":"NOW-`+who+`"}`))
		s.AwaitEvent(t, 0, event.MessagesUpsert, `{"keyId":"NOW-`+who+`"}`)
	}
	for n, who := range []string{"anne", "bob"} {
		s.ask(t, `{"chat":"$`+who+`","count":3}`, "history-of-"+who)
		s.Await("the piece", func() bool { return s.pieces() == n+1 })
	}
	same(t, "request ids", s.requestIDs(event.HistorySync), []string{"history-of-anne", "history-of-bob"})
	s.Stop()
}

// pieces counts the reports of history.
func (s scene) pieces() int { return len(s.requestIDs(event.HistorySync)) }

// ask asks for history under a request id, as soon as the phone can be asked.
func (s scene) ask(t *testing.T, body, requestID string) {
	t.Helper()
	s.Await("the phone can be asked", func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.API.Base+"/instance/"+rig.SceneName+"/chat/history", strings.NewReader(s.Fill(body)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+s.Token)
		req.Header.Set("X-Request-Id", requestID)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusAccepted
	})
}

// requestIDs lists those of events, without the empty piece of history that a phone sends
// after the pairing.
func (s scene) requestIDs(kind event.Kind) (all []string) {
	for _, w := range s.Webhooks() {
		if w.Event == string(kind) && !strings.Contains(string(w.Body), `"INITIAL_BOOTSTRAP"`) {
			all = append(all, w.Header.Get("X-Request-Id"))
		}
	}
	return all
}
