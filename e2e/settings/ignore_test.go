package settings

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// scene is a scene of the rig whose instance is online.
type scene struct{ *rig.Scene }

func newScene(t *testing.T, env ...string) scene {
	s := scene{rig.NewScene(t, env...)}
	s.Online(t)
	return s
}

func (s scene) settle(t *testing.T, settings string) {
	t.Helper()
	s.Do(t, rig.Route(http.MethodPut, "/instance/$name/settings", settings))
}

// restart kills the program and starts it again.
func (s scene) restart(t *testing.T) {
	t.Helper()
	s.Kill()
	s.Start()
	s.Online(t)
}

// reportedText counts the messages of a text that were reported as new.
func (s scene) reportedText(text string) (n int) {
	for _, w := range s.Webhooks() {
		if w.Event == string(event.MessagesUpsert) && strings.Contains(string(w.Body), text) {
			n++
		}
	}
	return n
}

// stored counts the stored messages of a text.
func (s scene) stored(t *testing.T, text string) (n int) {
	t.Helper()
	var list struct {
		Messages struct {
			Records []struct{ Content struct{ Text string } }
		}
	}
	s.Call(consumer.Bearer(s.Token), http.MethodPost, "/instance/"+rig.SceneName+"/db/messages", map[string]any{"limit": 100}, &list)
	for _, m := range list.Messages.Records {
		if m.Content.Text == text {
			n++
		}
	}
	return n
}

func TestIgnoredChatsAreAcknowledgedOnly(t *testing.T) {
	s := newScene(t)
	s.Do(t, rig.Act("$anne", `{"do":"group-create","subject":"Noise","participants":["$own","$bob"]}`).As("group"))
	s.AwaitEvent(t, 0, event.GroupsUpsert, `[{}]`)
	s.settle(t, `{"ignore":{"groups":true,"jids":["$bobLID"]}}`)
	texts := []string{"in the group", "from Bob"}
	say := func(n int) {
		s.Do(t, rig.Act("$anne", fmt.Sprintf(`{"do":"text","to":"$group.group","text":"%s %d"}`, texts[0], n)))
		s.Do(t, rig.Act("$bob", fmt.Sprintf(`{"do":"text","to":"$own","text":"%s %d"}`, texts[1], n)))
		// Sent last, to show that those before it were dealt with.
		s.Do(t, rig.Act("$anne", fmt.Sprintf(`{"do":"text","to":"$own","text":"from Anne %d"}`, n)))
		s.AwaitEvent(t, 0, event.MessagesUpsert, fmt.Sprintf(`{"content":{"text":"from Anne %d"}}`, n))
	}
	say(1)
	s.Await("both are counted", func() bool { return s.ignored(t) >= 2 })
	s.restart(t) // the settings hold, and what was ignored does not come again
	say(2)
	s.settle(t, `{}`)
	s.restart(t)
	s.Do(t, rig.Act("$bob", `{"do":"text","to":"$own","text":"from Bob 3"}`))
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"content":{"text":"from Bob 3"}}`)
	for _, text := range texts {
		for n := 1; n <= 2; n++ {
			text := fmt.Sprintf("%s %d", text, n)
			if reported, kept := s.reportedText(text), s.stored(t, text); reported != 0 || kept != 0 {
				t.Errorf("%q was reported %d times and is stored %d times", text, reported, kept)
			}
		}
	}
	s.Stop()
}

// TestEachIgnoreFieldIgnoresItsKind: acknowledged, so
// that nothing of it comes later, and neither stored nor reported.
func TestEachIgnoreFieldIgnoresItsKind(t *testing.T) {
	s := newScene(t)
	s.Do(t, rig.Act("$own", `{"do":"newsletter-join","name":"News"}`).As("news"))
	kinds := []struct{ field, by, act string }{
		{"status", "$anne", `{"do":"status","to":"$own","text":"%s"}`},
		{"newsletters", "$own", `{"do":"newsletter-message","newsletter":"$news.newsletter","text":"%s"}`},
		{"broadcasts", "$anne", `{"do":"broadcast","to":"$own","text":"%s"}`},
	}
	text := func(kind, round string) string { return kind + " while " + round + " is ignored" }
	for _, round := range []string{"nothing", "status", "newsletters", "broadcasts"} {
		if round != "nothing" {
			s.settle(t, `{"ignore":{"`+round+`":true}}`)
		}
		for _, kind := range kinds {
			s.Do(t, rig.Act(kind.by, fmt.Sprintf(kind.act, text(kind.field, round))))
		}
		// Sent last, to show that those before it were dealt with.
		s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"after `+round+`"}`))
		s.AwaitEvent(t, 0, event.MessagesUpsert, `{"content":{"text":"after `+round+`"}}`)
		for _, kind := range kinds {
			if kind.field != round {
				s.Await(text(kind.field, round), func() bool { return s.reportedText(text(kind.field, round)) == 1 })
			}
		}
		if round == "nothing" {
			continue
		}
		s.Await(round+" is counted", func() bool { return s.ignoredBy(t, round) == 1 })
		s.settle(t, `{}`)
		s.restart(t) // by a kill: what was not acknowledged would come now, and be reported
		s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"after the restart of `+round+`"}`))
		s.AwaitEvent(t, 0, event.MessagesUpsert, `{"content":{"text":"after the restart of `+round+`"}}`)
	}
	for _, round := range []string{"nothing", "status", "newsletters", "broadcasts"} {
		for _, kind := range kinds {
			want := 1
			if kind.field == round {
				want = 0
			}
			text := text(kind.field, round)
			if reported, kept := s.reportedText(text), s.stored(t, text); reported != want || kept != want {
				t.Errorf("%q was reported %d times and is stored %d times, not %d", text, reported, kept, want)
			}
		}
	}
	s.Stop()
}

// ignored returns the sum of postern_whatsapp_ignored_total.
func (s scene) ignored(t *testing.T) (sum int) { return s.ignoredBy(t, "") }

// ignoredBy returns what a field of the setting counted.
func (s scene) ignoredBy(t *testing.T, field string) (sum int) {
	t.Helper()
	for line := range strings.Lines(s.metrics(t)) {
		var n int
		if strings.HasPrefix(line, "postern_whatsapp_ignored_total") && strings.Contains(line, field) {
			if _, err := fmt.Sscan(line[strings.LastIndex(line, " "):], &n); err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}

func (s scene) metrics(t *testing.T) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.API.Base+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("apikey", s.Sec.GlobalAuthToken)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
