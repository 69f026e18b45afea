package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/browser"
	"postern/e2e/rig"
)

// fleet is a running program with sixty instances, some of them in trouble.
type fleet struct {
	*desk
	names  []string
	tokens map[string]string
	phones map[string]string
}

// wrong is the trouble that the scene waits for; each kind has its instances.
var wrong = map[string]int{"INSTANCE_LOGGED_OUT": 3, "INSTANCE_STOPPED": 2, "INSTANCE_RESTRICTED": 2, "RECEIVER_FAILING": 1, "UNDELIVERED": 1, "BATCH_STUCK": 1}

// TestScene makes a fleet in trouble, and pictures of the console's pages in the folder SCENE. With STAY the
// program runs until it is interrupted, and the log says where its console is. See make scene.
func TestScene(t *testing.T) {
	folder := os.Getenv("SCENE")
	if folder == "" {
		t.Skip("make scene makes it")
	}
	f := newFleet(t)
	f.breaks()
	f.Await("the trouble", func() bool { return f.found() })
	places := map[string]string{
		"overview": "overview", "instances": "instances", "instances-trouble": "instances?trouble=INSTANCE_LOGGED_OUT", "instance": "instances/" + f.names[0],
		"instance-events": "instances/" + f.names[0] + "/events", "deliveries": "deliveries", "batches": "batches", "chats": "chats/" + f.names[0],
	}
	f.signIn()
	for name, place := range places {
		for _, width := range []int{390, 1280, 1920} {
			for _, dark := range []bool{false, true} {
				f.page.Size(width, map[int]int{390: 844, 1280: 800, 1920: 1080}[width], dark)
				f.goTo(place, "")
				if name == "instance-events" && width == 390 && !dark {
					f.talks(f.names[0], 6) // the tab shows what it heard
				}
				f.page.Await(`!$("main [aria-busy=true], main .wheel")`)
				f.page.Run(`new Promise((done) => setTimeout(done, 400))`) // charts are drawn in the next frames
				file := filepath.Join(folder, fmt.Sprintf("%s-%d-%s.png", name, width, map[bool]string{false: "light", true: "dark"}[dark]))
				if err := os.WriteFile(file, f.page.Picture(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if os.Getenv("STAY") != "" {
		t.Logf("%s/ with the key %s; Ctrl-C ends it", f.API.Base, f.Sec.GlobalAuthToken)
		ctx, stop := signal.NotifyContext(context.WithoutCancel(t.Context()), os.Interrupt)
		defer stop()
		<-ctx.Done()
	}
	f.Stop()
}

// newFleet pairs sixty instances with tags, webhooks and some traffic.
func newFleet(t *testing.T) *fleet {
	b := browser.Open(t)
	f := &fleet{desk: &desk{World: rig.NewWorld(t), t: t, b: b, page: b.Page()}, tokens: map[string]string{}, phones: map[string]string{}}
	f.Keep = true
	f.Env = append(f.Env, "WHATSAPP_UNDELIVERED_AFTER=20s")
	f.Start()
	taker := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(taker.Close)
	for i := range 60 {
		city, shop := []string{"berlin", "lisbon", "recife", "madrid", "lyon", "quito"}[i%6], []string{"shop", "support", "orders", "events", "clinic"}[i/6%5]
		name := fmt.Sprintf("%s-%s-%d", city, shop, i/30+1)
		f.names = append(f.names, name)
		token := f.Pair(name)
		f.tokens[name] = token
		var status struct{ OwnerJID string }
		f.as(name, http.MethodGet, "connection/status", nil, &status)
		f.phones[name], _, _ = strings.Cut(status.OwnerJID, "@")
		f.as(name, http.MethodPut, "tags", map[string]any{"tags": []string{city, shop}}, nil)
		f.as(name, http.MethodPut, "webhook", map[string]any{"url": taker.URL + "/" + shop, "enabled": true, "events": map[string]bool{"messagesUpsert": true, "sendMessage": true}}, nil)
	}
	for _, name := range f.names {
		f.talks(name, 2)
	}
	return f
}

func (f *fleet) as(name, method, path string, in, out any) {
	f.t.Helper()
	f.Call(consumer.Bearer(f.tokens[name]), method, "/instance/"+name+"/"+path, in, out)
}

// talks lets people write to an instance, and answers them.
func (f *fleet) talks(name string, times int) {
	f.t.Helper()
	for i := range times {
		from := fmt.Sprintf("49151555%05d", 100+i)
		f.sandbox("/phones/"+from+"/act", fmt.Sprintf(`{"do":"text","to":%q,"text":%q}`, f.phones[name], []string{"Is my order ready?", "Thank you!", "When do you open?"}[i%3]), nil)
		f.as(name, http.MethodPost, "send/text", map[string]any{"number": from, "textMessage": map[string]any{"text": "We open at nine."}}, nil)
	}
}

// breaks makes the trouble.
func (f *fleet) breaks() {
	f.t.Helper()
	next := 1 // the first instance stays well
	some := func(n int, act string) {
		for range n {
			f.sandbox("/phones/"+f.phones[f.names[next]]+"/act", act, nil)
			next++
		}
	}
	some(3, `{"do":"logout"}`)
	some(2, `{"do":"stream-replaced"}`)
	some(2, `{"do":"temp-ban","code":101,"expire":7200}`)
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	f.t.Cleanup(down.Close)
	for range 4 {
		name := f.names[next]
		f.as(name, http.MethodPut, "webhook/options", map[string]any{"durable": true}, nil)
		f.as(name, http.MethodPut, "webhook", map[string]any{"url": down.URL + "/crm", "enabled": true, "events": map[string]bool{"messagesUpsert": true}}, nil)
		f.talks(name, 4)
		next++
	}
	f.sandbox("/faults", `{"withholdReceipts":true}`, nil)
	f.talks(f.names[next], 25)
	f.CreateBatch("Autumn sale", f.names[1:3], numbers(40))
	f.CreateBatch("Reminder of Friday", f.names[20:24], numbers(200))
}

func numbers(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("49151666%05d", i))
	}
	return all
}

// found reports whether GET /troubles lists every kind in wrong.
func (f *fleet) found() bool {
	var troubles struct {
		Items []struct {
			Kind  string
			Count int
		}
	}
	f.Call(f.operator(), http.MethodGet, "/troubles", nil, &troubles)
	counts := map[string]int{}
	for _, one := range troubles.Items {
		counts[one.Kind] += one.Count
	}
	for kind, n := range wrong {
		if counts[kind] < n {
			return false
		}
	}
	return true
}
