package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postern/app"
	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
	"postern/store"
)

// shelf is a scene in which everything is kept: files, durable events of the instance and of all, bodies in the log.
type shelf struct {
	*rig.SendScene
	t *testing.T
}

func newShelf(t *testing.T) *shelf {
	s := &shelf{rig.NewSendScene(t, "MEDIA_STORE_KIND=local", "MEDIA_STORE_PATH="+filepath.Join(t.TempDir(), "kept"), "WEBHOOK_LOG_BODIES=all"), t}
	admin := consumer.Key(s.Sec.GlobalAuthToken)
	s.Call(admin, http.MethodPut, "/webhook/options", map[string]any{"durable": true}, nil)
	s.webhook(s.Hook.URL + "/own")
	s.Call(consumer.Bearer(s.Token), http.MethodPut, s.Fill("/instance/$name/webhook/options"), map[string]any{"durable": true}, nil)
	return s
}

// webhook sets the webhook of the instance, for all events that the tests make.
func (s *shelf) webhook(url string) {
	s.t.Helper()
	flags := map[string]bool{"messagesUpsert": true, "messagesUpdated": true, "sendMessage": true, "contactsUpsert": true, "contactsUpdated": true, "groupsUpsert": true, "chatsUpdated": true}
	s.Call(consumer.Bearer(s.Token), http.MethodPut, s.Fill("/instance/$name/webhook"), map[string]any{"url": url, "events": flags}, nil)
}

// events pulls all events of the instance for a consumer that acknowledges none.
func (s *shelf) events(name string) string {
	s.t.Helper()
	status, answer := s.Raw(consumer.Bearer(s.Token), http.MethodGet, s.Fill("/instance/$name/events?limit=1000&consumer="+name), "")
	if status != http.StatusOK {
		s.t.Errorf("pull: %d %s", status, answer)
	}
	return answer
}

type erasureStatus struct {
	Status                                string
	Messages, Files, Contacts, Deliveries int
}

func (s *shelf) erase(jid string) (id string) {
	s.t.Helper()
	var is struct{ ErasureID string }
	s.Call(consumer.Bearer(s.Token), http.MethodDelete, s.Fill("/instance/$name/people/"+jid), nil, &is)
	return is.ErasureID
}

func (s *shelf) erasure(id string) (is erasureStatus) {
	s.t.Helper()
	s.Call(consumer.Bearer(s.Token), http.MethodGet, s.Fill("/instance/$name/erasures/"+id), nil, &is)
	return is
}

// write lets Anne and Bob write to the account and in a group.
func (s *shelf) write() {
	t := s.t
	s.Do(t, rig.Act("$own", `{"do":"contact","to":"$anne","fullName":"Anne Example"}`))
	s.Do(t, rig.Act("$anne", `{"do":"group-create","subject":"Bakers","participants":["$own","$bob"]}`).As("g"))
	for i := range 5 {
		s.Do(t, rig.Act("$anne", fmt.Sprintf(`{"do":"text","to":"$own","text":"anne %d"}`, i)))
		s.Do(t, rig.Act("$bob", fmt.Sprintf(`{"do":"text","to":"$own","text":"bob %d"}`, i)))
		s.Do(t, rig.Act("$anne", fmt.Sprintf(`{"do":"text","to":"$g.group","text":"anne in the group %d"}`, i)))
		s.Do(t, rig.Act("$bob", fmt.Sprintf(`{"do":"text","to":"$g.group","text":"bob in the group %d"}`, i)))
	}
	s.Do(t, rig.Act("$anne", `{"do":"image","to":"$own","caption":"a loaf"}`))
	s.PostJSON(t, s.Fill("/instance/$name/send/text"), s.Fill(`{"number":"$anne","textMessage":{"text":"an answer"}}`))
	b := s.CreateBatch("all", []string{rig.SceneName}, []string{rig.AnneNumber, rig.BobNumber})
	s.Await("the batch", func() bool { return s.Batch(b.ID).Status == event.BatchIsCompleted })
	s.Await("what they wrote, its file and the deliveries", func() bool {
		var files struct {
			Records []struct{ State string }
		}
		s.Call(consumer.Bearer(s.Token), http.MethodGet, s.Fill("/instance/$name/media/files"), nil, &files)
		return len(s.texts()) >= 21 && len(files.Records) == 1 && files.Records[0].State == "STORED" && s.pending() == 0
	})
}

// texts returns the contents of the stored messages.
func (s *shelf) texts() (all []string) {
	s.t.Helper()
	var list struct {
		Messages struct {
			Records []struct{ Content json.RawMessage }
		}
	}
	s.Call(consumer.Bearer(s.Token), http.MethodPost, s.Fill("/instance/$name/db/messages"), map[string]any{"limit": 100}, &list)
	for _, r := range list.Messages.Records {
		all = append(all, string(r.Content))
	}
	return all
}

// pending returns how many deliveries are pending.
func (s *shelf) pending() int {
	s.t.Helper()
	var own, global struct{ Records []json.RawMessage }
	s.Call(consumer.Bearer(s.Token), http.MethodGet, s.Fill("/instance/$name/webhook/deliveries?state=PENDING"), nil, &own)
	s.Call(consumer.Key(s.Sec.GlobalAuthToken), http.MethodGet, "/webhook/deliveries?state=PENDING", nil, &global)
	return len(own.Records) + len(global.Records)
}

// untouched are the buckets that an erasure leaves: the network's keys and names, and what has its own life.
func untouched(bucket string) bool {
	for _, prefix := range []string{"lid_map", "meta", "access_audit", "idempotency", "batch", "optout", "delivery_attempt"} {
		if strings.HasPrefix(bucket, prefix) {
			return true
		}
	}
	return false
}

// traces lists the records in which the file still names a person.
func (s *shelf) traces(names ...string) (all []string) {
	s.t.Helper()
	st, err := store.Open(store.Options{Path: s.DataFile(), Buckets: app.Buckets()})
	if err != nil {
		s.t.Fatal(err)
	}
	defer st.Close()
	err = st.View(func(tx *store.Tx) error {
		for _, b := range app.Buckets() {
			if untouched(b.Name) {
				continue
			}
			err := tx.Scan(b.Name, store.Range{}, func(k, v []byte) (bool, error) {
				for _, name := range names {
					if keysOnly := strings.HasPrefix(b.Name, "device") && strings.Trim(name, "0123456789") == ""; keysOnly {
						continue // the device's keys and sessions stay
					}
					if bytes.Contains(v, []byte(name)) || bytes.Contains(k, []byte(name)) {
						all = append(all, fmt.Sprintf("%s %q %.300q", b.Name, k, v))
					}
				}
				return true, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// TestErasureLeavesNoTraceOfAPerson, under both addresses, and everything of others.
func TestErasureLeavesNoTraceOfAPerson(t *testing.T) {
	s := newShelf(t)
	s.write()
	s.events("slow")
	lid, _, _ := strings.Cut(s.Vars["anneLID"], "@")
	id := s.erase("$anne")
	var is erasureStatus
	s.Await("the end of the erasure", func() bool {
		is = s.erasure(id)
		return is.Status == "done"
	})
	if is.Messages < 12 || is.Files != 1 || is.Contacts != 1 || is.Deliveries < 12 {
		t.Errorf("removed: %+v", is)
	}
	left := strings.Join(s.texts(), " ")
	for i := range 5 {
		if !strings.Contains(left, fmt.Sprintf(`"bob %d"`, i)) || !strings.Contains(left, fmt.Sprintf(`"bob in the group %d"`, i)) {
			t.Errorf("messages of another person are gone: %s", left)
		}
	}
	if strings.Contains(left, "anne") {
		t.Errorf("left: %s", left)
	}
	if events := s.events("slow"); strings.Contains(events, "anne 4") || !strings.Contains(events, "bob 4") {
		t.Errorf("a consumer reads %.500s", events)
	}
	seen := len(s.Webhooks())
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"written later"}`))
	s.Await("what she wrote later, and that her name is new", func() bool {
		isNew := slices.ContainsFunc(s.Webhooks()[seen:], func(w consumer.Webhook) bool {
			return strings.HasPrefix(w.Event, "contacts.") && bytes.Contains(w.Body, []byte(rig.AnneNumber))
		})
		return isNew && s.pending() == 0 && strings.Contains(strings.Join(s.texts(), " "), "written later")
	})
	again := s.erase("$anneLID")
	s.Await("the end of the second erasure", func() bool { return s.erasure(again).Status == "done" })
	s.Stop()
	for _, trace := range s.traces(rig.AnneNumber, lid, "anne ", "a loaf", "an answer", "Anne Example") {
		t.Error(trace)
	}
}

// TestKilledErasureContinues with nothing repeated and nothing skipped.
func TestKilledErasureContinues(t *testing.T) {
	s := newShelf(t)
	s.write()
	id := s.erase("$anne")
	for range 3 {
		s.Kill()
		s.Start()
	}
	var is erasureStatus
	s.Await("the end of the erasure", func() bool {
		is = s.erasure(id)
		return is.Status == "done"
	})
	s.Stop()
	for _, trace := range s.traces(rig.AnneNumber, "anne ", "a loaf") {
		t.Error(trace)
	}
}

// TestPendingDeliveriesAreErased: what names the person does not leave after the erasure.
func TestPendingDeliveriesAreErased(t *testing.T) {
	s := newShelf(t)
	s.webhook("http://127.0.0.1:1/dead")
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"a secret"}`))
	s.Do(t, rig.Act("$bob", `{"do":"text","to":"$own","text":"an order"}`))
	s.Await("both", func() bool { return len(s.texts()) == 2 && s.pending() >= 2 })
	id := s.erase("$anne")
	s.Await("the end of the erasure", func() bool { return s.erasure(id).Status == "done" })
	s.webhook(s.Hook.URL + "/own")
	count := func(text string) (n int) {
		for _, w := range s.Webhooks() {
			if bytes.Contains(w.Body, []byte(text)) {
				n++
			}
		}
		return n
	}
	s.Await("the event of the other person", func() bool { return count("an order") >= 2 && s.pending() == 0 })
	if n := count("a secret"); n > 1 {
		t.Errorf("the erased message was delivered %d times; only the global webhook had it", n)
	}
	status, answer := s.Raw(consumer.Bearer(s.Token), http.MethodGet, s.Fill("/instance/$name/webhook/deliveries?state=CANCELLED"), "")
	if status != http.StatusOK || !strings.Contains(answer, `"ERASED"`) {
		t.Errorf("%d %s", status, answer)
	}
}

// TestErasureIsRefusedForGroupsAndOwnAccount and changes nothing.
func TestErasureIsRefusedForGroupsAndOwnAccount(t *testing.T) {
	s := newShelf(t)
	for jid, want := range map[string]string{
		"$own": "422 OWN_ACCOUNT", "$shopLID": "422 OWN_ACCOUNT", "123456789-1@g.us": "422 INVALID_RECIPIENT", "12": "422 INVALID_RECIPIENT",
	} {
		status, answer := s.Raw(consumer.Bearer(s.Token), http.MethodDelete, s.Fill("/instance/$name/people/"+jid), "")
		if got := fmt.Sprint(status); got != want[:3] || !strings.Contains(answer, want[4:]) {
			t.Errorf("%s: %d %s", jid, status, answer)
		}
	}
	status, answer := s.Raw(consumer.Bearer(s.Token), http.MethodGet, s.Fill("/instance/$name/erasures/6f1c1a52-0d6b-4c56-8f5e-000000000000"), "")
	if status != http.StatusNotFound || !strings.Contains(answer, "ERASURE_NOT_FOUND") {
		t.Errorf("an unknown erasure: %d %s", status, answer)
	}
}
