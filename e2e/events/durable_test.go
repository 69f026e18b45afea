package events

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// run provokes the trigger of a row and returns its event's body, as the global
// webhook gets it.
func (r triggerRow) run(t *testing.T, s *rig.Scene) []byte {
	t.Helper()
	if !r.unpaired {
		s.Online(t)
	}
	for _, st := range r.before {
		s.Do(t, st)
	}
	from := len(s.Webhooks())
	for _, st := range r.steps {
		s.Do(t, st)
	}
	body := s.AwaitEvent(t, from, r.kind, r.want)
	if err := rig.CheckEvent(r.kind, body); err != nil {
		t.Errorf("the payload breaks its schema: %v\n%s", err, body)
	}
	if r.then != nil {
		r.then(t, s)
	}
	return body
}

// TestEveryTriggerOfADurableInstance: each event is kept under its number, with
// the bytes of the webhook, and comes to the webhook, the endpoint and the global
// webhook under one id.
func TestEveryTriggerOfADurableInstance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel() // it waits more than it works
	s := rig.NewScene(t)
	st := newStations(t, s, `"durable":true`)
	var seen [][]byte
	for _, row := range triggerTable() {
		t.Run(row.name(), func(t *testing.T) { seen = append(seen, row.run(t, s)) })
	}
	all := settled(t, s)
	for _, body := range seen {
		if !slices.Contains(all, string(body)) {
			t.Errorf("reported, and not kept: %s", body)
		}
	}
	for _, kind := range instanceKinds() {
		if !slices.ContainsFunc(all, func(body string) bool { return reportedBy(t, body).Event == string(kind) }) {
			t.Errorf("no %s is kept", kind)
		}
	}
	byID := st.awaitAll(t, all)
	s.Stop()
	if len(byID) != len(all) {
		t.Errorf("%d ids for %d events", len(byID), len(all))
	}
	for _, body := range byID {
		if !slices.Contains(all, body) {
			t.Errorf("delivered, and not kept: %s", body)
		}
	}
}

// chats are the names under which a test follows the order of chats: of an event
// about a message, the chat of the message.
type chats map[string]string

func (c chats) of(t *testing.T, body string) string {
	e := reportedBy(t, body)
	m := messageOf(t, e)
	switch {
	case m.KeyRemoteJID != "":
		c[fmt.Sprint(m.ID)] = m.KeyRemoteJID
		return m.KeyRemoteJID
	case e.Event == string(event.MessagesUpdate):
		return c[fmt.Sprint(m.MessageID)]
	case m.ChatJID != "":
		return m.ChatJID
	case m.JID != "" && e.Event == string(event.PresenceUpdated):
		return m.JID
	case e.Event == string(event.ConnectionUpdated), e.Event == string(event.StatusInstance):
		return "no chat"
	}
	return ""
}

// wantOrder holds what a destination accepted to the order in which the chats'
// events were committed. At least once: what came again counts when it came first.
func wantOrder(t *testing.T, st *stations, all []string) {
	t.Helper()
	at := map[string]int{}
	c, chatOf := chats{}, map[string]string{}
	for i, body := range all {
		if _, twin := at[body]; twin { // two that are indistinguishable: the same presence in the same millisecond
			chatOf[body] = ""
			continue
		}
		at[body], chatOf[body] = i, c.of(t, body)
	}
	for _, station := range []string{"webhook", "crm"} {
		last, first := map[string]int{}, map[string]bool{}
		for _, w := range st.arrived(station) {
			body := string(w.Body)
			chat := chatOf[body]
			if first[body] || chat == "" {
				continue
			}
			first[body] = true
			if before, ok := last[chat]; ok && at[body] < before {
				t.Errorf("%s: in the chat %s the event %d came behind %d", station, chat, at[body], before)
			}
			last[chat] = at[body]
		}
	}
}

// refuseSome refuses one event of so many the first time. In a chat the others
// wait for it, a second or more.
func refuseSome(of uint32) func(string, consumer.Webhook) int {
	refused := map[string]bool{}
	return func(station string, w consumer.Webhook) int {
		h := fnv.New32a()
		_, _ = h.Write([]byte(station + w.ID))
		if key := station + w.ID; h.Sum32()%of == 0 && !refused[key] {
			refused[key] = true
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	}
}

// TestAKillBeforeDeliveryLosesNoDurableEvent: what was committed while nothing
// took it comes after the next start, in the order of its chat, under the id of the
// attempts before, also from receivers that go on refusing some.
func TestAKillBeforeDeliveryLosesNoDurableEvent(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel() // it waits more than it works
	s := rig.NewScene(t)
	st := newStations(t, s, `"durable":true,"order":"chat"`)
	st.answering(func(string, consumer.Webhook) int { return http.StatusServiceUnavailable })
	s.Online(t)
	sent := rig.Route(http.MethodPost, "/instance/$name/send/text", `{"number":"$anne","textMessage":{"text":"$text"}}`).As("sent")
	for i := range 5 {
		s.Vars["text"] = fmt.Sprint("number ", i)
		s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"anne $text"}`))
		s.Do(t, rig.Act("$bob", `{"do":"text","to":"$own","text":"bob $text"}`))
		s.Do(t, rig.Act("$anne", `{"do":"chat-presence","to":"$own","state":"composing"}`))
		s.Do(t, sent)
		s.Do(t, rig.Act("$anne", `{"do":"receipt","to":"$own","type":"read","ids":["$sent.keyId"]}`))
		s.Do(t, rig.Act("$bob", `{"do":"call-offer","to":"$own"}`))
	}
	s.Do(t, rig.Act("$own", `{"do":"contact","to":"$bob","fullName":"Bob Miller","firstName":"Bob"}`))
	s.Do(t, rig.Act("$own", `{"do":"drop"}`))
	s.Online(t)
	batch := fmt.Sprintf(`{"name":"b","instances":["%s"],"message":{"type":"text","payload":{"text":"hello"}},"recipients":["$anne","$bob"],"options":{"delay":{"minMs":0,"maxMs":0}}}`, rig.SceneName)
	s.Call(consumer.Bearer(s.User), http.MethodPost, "/message/batches", raw(s.Fill(batch)), nil)
	s.Await("the end of the batch", func() bool { return s.Seen(string(event.BatchCompleted)) == 1 })
	s.Await("attempts at both receivers", func() bool { return st.tried("webhook") > 0 && st.tried("crm") > 0 })
	before := settled(t, s)
	s.Kill()
	st.mu.Lock()
	tried := slices.Concat(st.attempts["webhook"], st.attempts["crm"])
	st.mu.Unlock()
	for _, station := range []string{"webhook", "crm"} {
		if n := len(st.arrived(station)); n != 0 {
			t.Fatalf("%s accepted %d events", station, n)
		}
	}
	st.answering(refuseSome(6))
	s.Start()
	s.Online(t)
	after := settled(t, s)
	if len(after) < len(before) || !slices.Equal(after[:len(before)], before) {
		t.Errorf("the kill changed what was kept: %d events before, %d after", len(before), len(after))
	}
	byID := st.awaitAll(t, after)
	for _, w := range tried {
		if byID[w.ID] != string(w.Body) {
			t.Errorf("%s had the id %s before the kill, which now has %q", w.Event, w.ID, byID[w.ID])
		}
	}
	count := map[string]int{}
	for _, body := range before {
		count[reportedBy(t, body).Event]++
	}
	for kind, want := range map[event.Kind]int{
		event.MessagesUpsert: 10, event.SendMessage: 7, event.CallUpsert: 5, event.PresenceUpdated: 1, event.MessagesUpdate: 5, event.ContactsUpsert: 1,
	} {
		if count[string(kind)] < want {
			t.Errorf("%d %s are kept, want %d", count[string(kind)], kind, want)
		}
	}
	wantOrder(t, st, after)
	s.Stop()
}

type raw []byte

// MarshalJSON implements json.Marshaler.
func (r raw) MarshalJSON() ([]byte, error) { return r, nil }

// act lets a phone do something, whether the program is there or not.
func act(s *rig.Scene, phone, body string) {
	rec := httptest.NewRecorder()
	s.Control.ServeHTTP(rec, httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/sandbox/phones/"+phone+"/act", strings.NewReader(body)))
}

// kills returns how often TestAKillKeepsMessageAndEventTogether kills, ROUNDS or a few.
func kills() int {
	if n, err := strconv.Atoi(os.Getenv("ROUNDS")); err == nil && n > 0 {
		return n
	}
	return 6
}

// follower hears every event of the instance, across kills, from the position
// where it was.
type follower struct {
	heard []string
	stop  context.CancelFunc
	done  sync.WaitGroup
}

func follow(t *testing.T, s *rig.Scene) *follower {
	ctx, cancel := context.WithCancel(t.Context())
	f := &follower{stop: cancel}
	f.done.Go(func() {
		for ctx.Err() == nil {
			conn, _ := listen(t, s, len(f.heard))
			for conn != nil {
				_, body, err := conn.Read(ctx)
				if err != nil {
					_ = conn.CloseNow()
					break
				}
				f.heard = append(f.heard, string(body))
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	return f
}

// TestAKillKeepsMessageAndEventTogether: of messages that come
// while the program is killed again and again, each that is stored is reported, under
// one number and one id, to every destination; and nothing is reported that is not
// stored. A listener with since gets each once.
func TestAKillKeepsMessageAndEventTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills real processes")
	}
	t.Parallel() // it waits more than it works
	s := rig.NewScene(t)
	st := newStations(t, s, `"durable":true,"order":"chat"`)
	s.Online(t)
	st.answering(refuseSome(60))
	var sending sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	var texts [2]int
	for i, phone := range []string{rig.AnneNumber, rig.BobNumber} {
		sending.Go(func() {
			for ctx.Err() == nil {
				act(s, phone, fmt.Sprintf(`{"do":"text","to":"%s","text":"%d of %s"}`, rig.OwnNumber, texts[i], phone))
				act(s, phone, fmt.Sprintf(`{"do":"chat-presence","to":"%s","state":"composing"}`, rig.OwnNumber))
				texts[i]++
				time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
			}
		})
	}
	f := follow(t, s)
	for range kills() {
		time.Sleep(time.Duration(50+rand.IntN(700)) * time.Millisecond)
		s.Kill()
		s.Start()
		if rand.IntN(3) > 0 {
			s.Online(t)
		}
	}
	s.Online(t)
	cancel()
	sending.Wait()
	var stored []message
	s.Await("every message", func() bool {
		stored = storedMessages(t, s)
		return len(stored) == texts[0]+texts[1]
	})
	all := settled(t, s)
	byKey := map[string]any{}
	for _, body := range all {
		if e := reportedBy(t, body); e.Event == string(event.MessagesUpsert) {
			m := messageOf(t, e)
			if byKey[m.KeyID] != nil {
				t.Errorf("the message %v is reported twice", m.ID)
			}
			byKey[m.KeyID] = m.ID
		}
	}
	for _, m := range stored {
		if byKey[m.KeyID] != m.ID {
			t.Errorf("the message %v is stored; reported is %v", m.ID, byKey[m.KeyID])
		}
		delete(byKey, m.KeyID)
	}
	if len(byKey) > 0 {
		t.Errorf("reported, and not stored: %v", byKey)
	}
	st.awaitAll(t, all)
	wantOrder(t, st, all)
	f.await(t, s, all)
	s.Stop()
}

// await ends the follower once it is where the events are.
func (f *follower) await(t *testing.T, s *rig.Scene, all []string) {
	t.Helper()
	time.AfterFunc(time.Second, f.stop)
	f.done.Wait()
	if len(f.heard) > len(all) {
		all = kept(t, s)
	}
	for i, body := range f.heard {
		if body != all[i] {
			t.Fatalf("number %d: heard %s, kept %s", i+1, body, all[i])
		}
	}
	if len(f.heard) < len(all) {
		t.Errorf("heard %d of %d events", len(f.heard), len(all))
	}
}

// storedMessages returns all that the program has.
func storedMessages(t *testing.T, s *rig.Scene) (all []message) {
	t.Helper()
	body := map[string]any{"limit": 100}
	for {
		var page struct {
			Messages struct {
				Records  []message
				PageInfo struct{ NextCursor any }
			}
		}
		s.Call(consumer.Bearer(s.Token), http.MethodPost, "/instance/"+rig.SceneName+"/db/messages", body, &page)
		all = append(all, page.Messages.Records...)
		if body["nextCursor"] = page.Messages.PageInfo.NextCursor; body["nextCursor"] == nil {
			return all
		}
	}
}
