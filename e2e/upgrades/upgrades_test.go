package upgrades

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/app"
	"postern/cli/consumer"
	"postern/delivery/outbox"
	"postern/e2e/rig"
	"postern/event"
	"postern/httpapi/tokens"
	"postern/sandbox"
	"postern/store"
)

const testdata = "e2e/upgrades/testdata"

// contents is what is written down of a kept data file.
type contents struct {
	Version          string
	Tokens           struct{ Shop, Desk string }
	Owner            uuid.UUID
	Finished, Paused uuid.UUID
	Answers          []answer
}

// answer is what the interface said.
type answer struct {
	Who    string // shop, desk or user
	Path   string
	Answer any
}

// TestTheDataFileOfEachReleaseIsOpened: everything that its program reported is there,
// what waited is delivered, what was paused continues, and its accounts chat without being
// paired again.
func TestTheDataFileOfEachReleaseIsOpened(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real process")
	}
	folders, err := filepath.Glob(filepath.Join(testdata, "*", "contents.json"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("no data file is kept: %v", err)
	}
	for _, name := range folders {
		t.Run(filepath.Base(filepath.Dir(name)), func(t *testing.T) { opened(t, filepath.Dir(name)) })
	}
}

func opened(t *testing.T, folder string) {
	is := contentsOf(t, folder)
	w := world(t, folder, is)
	whole := func(when, file string) {
		t.Helper()
		if status, out := rig.Program(t, w.Folder, nil, "check", file); status != 0 || !strings.Contains(out, "no fault") {
			t.Fatalf("%s the file has faults: %s", when, out)
		}
	}
	whole("before anything opened it", w.DataFile())

	w.Env = append(w.Env, "WHATSAPP_AUTO_RECONNECT=false") // nothing changes but by being opened
	w.Keep = true
	w.Start()
	kept := w.DataFile() + ".before-upgrade"
	w.Kill() // the copy stays until a stop in order
	whole("after a kill", w.DataFile())
	whole("as it is kept", kept)
	w.Start()
	same(t, kept, filepath.Join(folder, "postern.db.gz"))
	is.check(w)
	waitForEvents(w, is)
	pullEvents(w, is)
	w.Stop()
	if _, err := os.Stat(kept); err == nil {
		t.Errorf("after the first orderly stop %s is there", kept)
	}
	whole("after the first orderly stop", w.DataFile())
	for _, batch := range []uuid.UUID{is.Finished, is.Paused} {
		w.CheckOutbox(batch)
		inOrder(w, batch)
	}

	w.Env = append(w.Env, "WHATSAPP_AUTO_RECONNECT=true")
	w.Start()
	w.AwaitOnline("shop", is.Tokens.Shop)
	w.AwaitOnline("desk", is.Tokens.Desk)
	deliver(w, is)
	chat(w, is)
	goOn(w, is)
	w.Stop()
	whole("at the end", w.DataFile())
}

// same wants a file to be what another one has packed.
func same(t *testing.T, path, packed string) {
	t.Helper()
	want := filepath.Join(t.TempDir(), "unpacked")
	unpack(t, packed, want)
	raw, err := os.ReadFile(path)
	before, errBefore := os.ReadFile(want)
	if err != nil || errBefore != nil || !bytes.Equal(raw, before) {
		t.Errorf("%s is not the file of before: %v %v", path, err, errBefore)
	}
}

func contentsOf(t *testing.T, folder string) *contents {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(folder, "contents.json"))
	if err != nil {
		t.Fatal(err)
	}
	is := &contents{}
	if err := json.Unmarshal(raw, is); err != nil {
		t.Fatal(err)
	}
	if len(is.Answers) < 20 {
		t.Fatalf("%d answers are written down", len(is.Answers))
	}
	return is
}

// world is one with the kept network and the kept data file, which grow no older.
func world(t *testing.T, folder string, is *contents) *rig.World {
	t.Helper()
	w := rig.NewWorld(t)
	_ = w.Sandbox.Close()
	network := filepath.Join(w.Folder, "sandbox.db")
	unpack(t, filepath.Join(folder, "sandbox.db.gz"), network)
	unpack(t, filepath.Join(folder, "postern.db.gz"), w.DataFile())
	var err error
	if w.Sandbox, err = sandbox.Open(sandbox.Config{Path: network}); err != nil {
		t.Fatal(err)
	}
	w.Sec.GlobalAuthToken, w.Sec.JWTSecret = "upgrade-test-0123456789abcdef", "upgrade-test-secret-0123456789-abcdefghijklmnop"
	w.Owner = is.Owner
	if w.User, err = tokens.ForUser([]byte(w.Sec.JWTSecret), w.Owner, time.Hour, time.Now()); err != nil {
		t.Fatal(err)
	}
	w.Env = []string{"DATABASE_MESSAGE_RETENTION=0s", "MESSAGE_BATCH_RETENTION=0s", "OUTBOX_RETENTION=0s", "WEBHOOK_LOG_RETENTION=8760h"}
	return w
}

func unpack(t *testing.T, from, to string) {
	t.Helper()
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, z); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// credential is that by which an answer was asked for.
func (is *contents) credential(w *rig.World, who string) consumer.Credential {
	return consumer.Bearer(map[string]string{"shop": is.Tokens.Shop, "desk": is.Tokens.Desk, "user": w.User}[who])
}

// check asks for all that is written down.
func (is *contents) check(w *rig.World) {
	w.T.Helper()
	for _, a := range is.Answers {
		var got any
		w.Call(is.credential(w, a.Who), http.MethodGet, a.Path, nil, &got)
		if !rig.Holds(got, a.Answer) {
			w.T.Errorf("GET %s of %s was\n%s\nand is\n%s", a.Path, is.Version, text(a.Answer), text(got))
		}
	}
}

func text(of any) string {
	raw, err := json.Marshal(of)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// waitForEvents: the outbox has kept the events of batches for the global webhook.
func waitForEvents(w *rig.World, is *contents) {
	w.T.Helper()
	n := 0
	for _, a := range is.Answers {
		if !strings.Contains(a.Path, "/events?") {
			continue
		}
		list := a.Answer.(map[string]any)["records"].([]any)
		n += len(list)
	}
	seen := func() (sum int) {
		for _, row := range event.Catalogue() {
			if strings.HasPrefix(string(row.Kind), "message.batch.") {
				sum += w.Seen(string(row.Kind))
			}
		}
		return sum
	}
	w.Await(fmt.Sprintf("%d events of batches", n), func() bool { return seen() >= n })
}

// pullEvents: a consumer of all events gets those of batches that the file had, as the webhook does.
func pullEvents(w *rig.World, is *contents) {
	w.T.Helper()
	var got struct {
		Events []struct {
			Sequence uint64
			Event    string
			Body     json.RawMessage
		}
	}
	w.Call(consumer.Key(w.Sec.GlobalAuthToken), http.MethodGet, "/events?consumer=upgrade&limit=1000", nil, &got)
	n, sent := 0, 0
	for _, a := range is.Answers {
		if strings.Contains(a.Path, "/events?") {
			n += len(a.Answer.(map[string]any)["records"].([]any))
		}
	}
	for i, e := range got.Events {
		if e.Sequence != uint64(i+1) {
			w.T.Errorf("event %d is number %d", i+1, e.Sequence)
		}
		if w.Times(e.Body) > 0 {
			sent++
		}
	}
	if n == 0 || len(got.Events) < n || sent < n {
		w.T.Errorf("%d events of batches were kept; %d can be pulled, %d of them as they were sent", n, len(got.Events), sent)
	}
}

// inOrder wants the events of a batch to have come in their order.
func inOrder(w *rig.World, batch uuid.UUID) {
	w.T.Helper()
	s, err := store.Open(store.Options{Path: w.DataFile(), Buckets: app.Buckets()})
	if err != nil {
		w.T.Fatal(err)
	}
	defer s.Close()
	first := map[string]int{}
	for i, hook := range w.Webhooks() {
		if _, again := first[string(hook.Body)]; !again {
			first[string(hook.Body)] = i
		}
	}
	err = s.View(func(tx *store.Tx) error {
		entries, err := outbox.OfBatch(tx, batch, 0, 1000)
		last := -1
		for _, e := range entries {
			at, came := first[string(e.Body)]
			if !came || at < last {
				w.T.Errorf("event %d of its user, %s, came as webhook %d (%t), the one before it as %d", e.OwnerSeq, e.Kind, at, came, last)
			}
			last = at
		}
		return err
	})
	if err != nil {
		w.T.Error(err)
	}
}

// deliver has what waited for receivers that were not there sent to one that is.
func deliver(w *rig.World, is *contents) {
	w.T.Helper()
	shop := consumer.Bearer(is.Tokens.Shop)
	w.Call(shop, http.MethodPut, "/instance/shop/webhook", map[string]any{"url": w.Hook.URL, "events": map[string]any{"messagesUpsert": true, "sendMessage": true}}, nil)
	w.Call(shop, http.MethodPut, "/instance/shop/webhook/options", map[string]any{
		"durable": true, "headers": map[string]any{"X-Shop": "***"},
		"endpoints": []any{map[string]any{"id": "crm", "url": w.Hook.URL, "events": map[string]any{"messagesUpsert": true}}},
	}, nil)
	n := 0
	for _, a := range is.Answers {
		if !strings.Contains(a.Path, "/webhook/deliveries/") {
			continue
		}
		n++
		body, _ := a.Answer.(map[string]any)["body"].(string)
		w.Call(shop, http.MethodPost, a.Path+"/retry", nil, nil) // at once, also when its time is over by now
		w.Await("DELIVERED: "+a.Path, func() bool {
			var d struct{ State string }
			w.Call(shop, http.MethodGet, a.Path, nil, &d)
			return d.State == "DELIVERED"
		})
		if w.Times([]byte(body)) == 0 {
			w.T.Errorf("%s is DELIVERED, and %s did not come", a.Path, body)
		}
	}
	if n < 6 {
		w.T.Errorf("only %d deliveries waited", n)
	}
}

// chat: what the accounts send is read by others, and they read what others send.
func chat(w *rig.World, is *contents) {
	w.T.Helper()
	var desk struct{ OwnerJID string }
	w.Call(consumer.Bearer(is.Tokens.Desk), http.MethodGet, "/instance/desk", nil, &desk)
	number, _, _ := strings.Cut(desk.OwnerJID, "@")
	const contact = "4915550001001"
	send(w, "shop", is.Tokens.Shop, number, "from the shop, after")
	send(w, "shop", is.Tokens.Shop, contact, "echo still there?")
	read(w, "desk", is.Tokens.Desk, "", "from the shop, after")
	phone, ok := w.Sandbox.Phone(contact)
	if !ok {
		w.T.Fatalf("the network has no phone %s", contact)
	}
	if _, err := phone.WaitReceived(w.T.Context(), func(r sandbox.Received) bool { return r.Text == "echo still there?" }); err != nil {
		w.T.Error(err)
	}
	read(w, "shop", is.Tokens.Shop, contact, "still there?")
}

func send(w *rig.World, name, token, number, text string) {
	w.T.Helper()
	w.Call(consumer.Bearer(token), http.MethodPost, "/instance/"+name+"/send/text", rig.TextTo(number, text, 0), nil)
}

// read waits until an instance has stored a text that others sent, in the chat or in any.
func read(w *rig.World, name, token, chat, text string) {
	w.T.Helper()
	filter := map[string]any{"keyFromMe": false}
	if chat != "" {
		filter["keyRemoteJid"] = chat
	}
	w.Await(name+" reads "+text, func() bool {
		var found struct {
			Messages struct{ Records []struct{ Content any } }
		}
		w.Call(consumer.Bearer(token), http.MethodPost, "/instance/"+name+"/db/messages", map[string]any{"filter": filter, "limit": 100}, &found)
		for _, m := range found.Messages.Records {
			if strings.Contains(fmt.Sprint(m.Content), text) {
				return true
			}
		}
		return false
	})
}

// goOn resumes the paused batch: it ends, and who had the message gets it no second
// time. The phones remember what they read since they were started here.
func goOn(w *rig.World, is *contents) {
	w.T.Helper()
	had := map[string]bool{}
	for _, a := range is.Answers {
		if !strings.HasPrefix(a.Path, "/message/batches/"+is.Paused.String()+"/items?") {
			continue
		}
		for _, item := range a.Answer.(map[string]any)["records"].([]any) {
			item := item.(map[string]any)
			had[item["normalizedRecipient"].(string)] = item["status"] == "SUCCESS"
		}
	}
	w.Call(consumer.Bearer(w.User), http.MethodPost, "/message/batches/"+is.Paused.String()+"/resume", nil, nil)
	w.Await("the end of the paused batch", func() bool { return w.Batch(is.Paused).Status == event.BatchIsCompleted })
	if b := w.Batch(is.Paused); b.Counts.Success != len(had) || len(had) != 20 {
		w.T.Errorf("%d recipients, %+v", len(had), b.Counts)
	}
	for number, before := range had {
		want := map[bool]int{true: 0, false: 1}[before]
		if n := w.Decrypted(number, "summer"); n != want {
			w.T.Errorf("%s read the text %d times instead of %d", number, n, want)
		}
	}
}
