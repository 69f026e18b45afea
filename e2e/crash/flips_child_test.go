package crash

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"postern/app"
	"postern/cli/consumer"
	"postern/config"
	"postern/e2e/capture"
	"postern/store"
)

// asFlipper makes the test binary a child that opens one damaged file after the
// other. What ends the process without a word ends the child, and its parent
// sees it.
const asFlipper = "POSTERN_TEST_FLIPS"

// flipJob is what the child is asked to do.
type flipJob struct {
	Image  string         // the whole file
	Folder string         // where the damaged ones go
	Flips  []int64        // bits of the image, in order
	Sec    config.Secrets // of the program that made the image
	Died   time.Time      // of that program
	Users  []string       // their tokens
	Lines  map[string]string
	// Instead of flips: records that their owners do not understand.
	Garbage []garbage
}

// garbage is the content of a record whose checksum is right.
type garbage struct {
	Bucket     string
	Key, Value []byte
}

// flipResult is what became of one flip.
type flipResult struct {
	N       int
	Outcome string // one of the outcomes below, or what is wrong
	Wrong   bool
	Detail  string
}

// Outcomes that are as they should be.
const (
	flipNothing = "nothing changed"
	flipMended  = "corrected and reported"
	flipAside   = "a record set aside and reported"
	flipRefused = "refused with words"
	flipRuns    = "the program runs"
)

// flipper runs the job that is described in a file and prints a line a flip.
func flipper(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f := &flips{out: json.NewEncoder(os.Stdout)}
	if err := json.Unmarshal(raw, &f.job); err != nil {
		return err
	}
	if f.image, err = os.ReadFile(f.job.Image); err != nil {
		return err
	}
	hook := httptest.NewServer(consumer.Receive(http.StatusOK, f.got))
	defer hook.Close()
	f.hook = hook.URL
	if f.whole, _, err = f.open(f.image); err != nil {
		return fmt.Errorf("the file without damage: %w", err)
	}
	answers, warned, err := f.serve()
	if err != nil || warned {
		return fmt.Errorf("the program on the file without damage (warns: %t): %w", warned, err)
	}
	f.answers = answers
	for n, g := range f.job.Garbage {
		r := f.spoil(g)
		r.N = n
		if err := f.out.Encode(r); err != nil {
			return err
		}
	}
	for n, bit := range f.job.Flips {
		r := f.flip(bit)
		r.N = n
		if err := f.out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

type flips struct {
	job     flipJob
	out     *json.Encoder
	image   []byte
	hook    string
	whole   map[string]string // bucket/key in hex -> value
	events  map[string]bool   // bodies of the events in them
	answers map[string]bool   // what the API reports about the file without damage

	mu     sync.Mutex
	bodies []string
}

func (f *flips) got(r consumer.Webhook) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.HasPrefix(r.Event, "message.batch.") {
		f.bodies = append(f.bodies, string(r.Body))
	}
}

func (f *flips) file() string { return filepath.Join(f.job.Folder, "data", "postern.db") }

// flip damages one bit and says what became of it.
func (f *flips) flip(bit int64) flipResult {
	broken := bytes.Clone(f.image)
	broken[bit/8] ^= 1 << (bit % 8)
	held, reported, err := f.open(broken)
	switch {
	case errors.Is(err, store.ErrCorrupt) && strings.Contains(err.Error(), f.file()):
		return flipResult{Outcome: flipRefused, Detail: err.Error()}
	case err != nil:
		return flipResult{Outcome: "refused with the wrong words", Wrong: true, Detail: err.Error()}
	}
	lost := 0
	for k, v := range f.whole {
		got, there := held[k]
		switch {
		case there && got != v:
			return flipResult{Outcome: "a wrong payload", Wrong: true, Detail: k}
		case !there && !strings.Contains(reported, "record="+k+" "):
			return flipResult{Outcome: "a silent loss", Wrong: true, Detail: k}
		case !there:
			lost++
		}
	}
	for k := range held {
		if _, was := f.whole[k]; !was {
			return flipResult{Outcome: "a record that never was", Wrong: true, Detail: k}
		}
	}
	switch {
	case lost == 0 && strings.Contains(reported, "level=WARN"):
		return flipResult{Outcome: flipMended, Detail: reported}
	case lost == 0 && strings.Contains(reported, "level=ERROR"):
		return flipResult{Outcome: flipAside, Detail: reported}
	case lost == 0:
		return flipResult{Outcome: flipNothing}
	}
	return f.run(broken, reported)
}

// run starts the whole program on a file with a record set aside.
func (f *flips) run(broken []byte, reported string) flipResult {
	if err := os.WriteFile(f.file(), broken, 0o600); err != nil {
		return flipResult{Outcome: "no file", Wrong: true, Detail: err.Error()}
	}
	answers, warned, err := f.serve()
	if report, checkErr := store.Check(context.Background(), f.file(), app.Buckets()); err == nil && !warned {
		// Its owner may have written the record again before it was read.
		// What then stands for a record that says otherwise is reported by the check alone.
		damage := slices.DeleteFunc(report.Faults, func(fault string) bool { return !strings.Contains(fault, " is damaged") })
		if err = checkErr; len(damage) > 0 {
			err = fmt.Errorf("/ready does not warn of %q", damage)
		}
	}
	if err != nil {
		return flipResult{Outcome: "the program does not run", Wrong: true, Detail: err.Error() + "\n" + reported}
	}
	for a := range answers {
		if !f.answers[a] {
			return flipResult{Outcome: "a wrong answer", Wrong: true, Detail: a + "\n" + reported}
		}
	}
	return flipResult{Outcome: flipAside, Detail: reported}
}

// spoil starts the whole program on a file with a record that its owner does
// not understand.
func (f *flips) spoil(g garbage) flipResult {
	if err := os.WriteFile(f.file(), f.image, 0o600); err != nil {
		return flipResult{Outcome: "no file", Wrong: true, Detail: err.Error()}
	}
	s, err := store.Open(store.Options{Path: f.file(), Buckets: app.Buckets(), NoSync: true, MinFree: 1})
	if err == nil {
		err = s.Update(context.Background(), func(tx *store.Tx) error { return tx.Put(g.Bucket, g.Key, g.Value) })
		err = errors.Join(err, s.Close())
	}
	if err != nil {
		return flipResult{Outcome: "no file", Wrong: true, Detail: err.Error()}
	}
	answers, _, err := f.serve()
	if err != nil {
		return flipResult{Outcome: "the program does not run", Wrong: true, Detail: err.Error()}
	}
	for a := range answers {
		if !f.answers[a] {
			return flipResult{Outcome: "a wrong answer", Wrong: true, Detail: a}
		}
	}
	return flipResult{Outcome: flipRuns}
}

// open writes the file, opens it as the program does, and returns all records
// and the log.
func (f *flips) open(image []byte) (held map[string]string, log string, err error) {
	if err := os.MkdirAll(filepath.Dir(f.file()), 0o700); err != nil {
		return nil, "", err
	}
	if err := os.WriteFile(f.file(), image, 0o600); err != nil {
		return nil, "", err
	}
	var reported capture.Buffer
	s, err := store.Open(store.Options{
		Path: f.file(), Buckets: app.Buckets(), NoSync: true, MinFree: 1, Logger: slog.New(slog.NewTextHandler(&reported, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return nil, "", err
	}
	held = map[string]string{}
	err = s.View(func(tx *store.Tx) error {
		for _, b := range append(store.Buckets(), app.Buckets()...) {
			if b.Name == "meta" || b.Name == "damaged" {
				continue
			}
			err := tx.Scan(b.Name, store.Range{}, func(k, v []byte) (bool, error) {
				held[b.Name+"/"+hex.EncodeToString(k)] = string(v)
				return true, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return held, reported.String(), errors.Join(err, s.Close())
}

// serve starts the program on the file as it lies there, asks for all that it
// tells, and stops it.
func (f *flips) serve() (answers map[string]bool, warned bool, err error) {
	cfg := config.Default()
	cfg.Server.Listen, cfg.Store.Path = "127.0.0.1:0", f.file()
	cfg.Webhook.GlobalURL, cfg.Webhook.GlobalEnabled = f.hook, true
	cfg.WhatsApp.AutoReconnect = false
	var log capture.Buffer
	a, err := app.Start(context.Background(), cfg, f.job.Sec, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return nil, false, err
	}
	api := consumer.NewClient(a.URL())
	answers, warned, err = f.ask(api)
	api.HTTP.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), cfg.Server.ShutdownTimeout)
	defer cancel()
	if err = errors.Join(err, a.Stop(ctx)); err != nil {
		return nil, warned, fmt.Errorf("%w; the log: %s", err, &log)
	}
	return answers, warned, f.checkDeliveries()
}

// eventBegins is how the body of every event begins.
const eventBegins = `{"event":`

// checkDeliveries holds what arrived against the events that the file had.
func (f *flips) checkDeliveries() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.events == nil {
		f.events = map[string]bool{}
		for _, v := range f.whole {
			if _, rest, found := strings.Cut(v, eventBegins); found {
				f.events[eventBegins+rest] = true
			}
		}
	}
	for _, body := range f.bodies {
		var e struct {
			Timestamp time.Time
		}
		if json.Unmarshal([]byte(body), &e) == nil && e.Timestamp.After(f.job.Died) {
			continue // it was made by this start
		}
		if !f.events[body] {
			return fmt.Errorf("a delivery that is in no record: %s", body)
		}
	}
	f.bodies = nil
	return nil
}

// ask reads the lists of the interface.
func (f *flips) ask(api *consumer.Client) (answers map[string]bool, warned bool, err error) {
	var ready struct{ Warnings []string }
	if err := api.Call(context.Background(), consumer.Credential{}, http.MethodGet, "/ready", nil, &ready); err != nil {
		return nil, false, err
	}
	answers = map[string]bool{}
	err = f.collect(api, answers, consumer.Key(f.job.Sec.GlobalAuthToken), "/instance")
	for _, token := range f.job.Users {
		err = errors.Join(err, f.collect(api, answers, consumer.Bearer(token), "/message/batches?limit=200"))
	}
	for name, token := range f.job.Lines {
		for _, list := range []string{"/contacts?limit=200", "/chats?limit=200", "/media/uploads", "/webhook"} {
			err = errors.Join(err, f.collect(api, answers, consumer.Bearer(token), "/instance/"+name+list))
		}
	}
	// The program runs without the network of the accounts, which it warns of, damage or not.
	damage := slices.DeleteFunc(ready.Warnings, func(w string) bool { return strings.Contains(w, "to another network") })
	return answers, len(damage) > 0, err
}

// collect adds what a list reports about things that a start does not change.
func (f *flips) collect(api *consumer.Client, answers map[string]bool, cred consumer.Credential, path string) error {
	req, err := http.NewRequest(http.MethodGet, api.Base+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set(cred.Name, cred.Value)
	res, err := api.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusUnauthorized {
		return nil // the instance, or its webhook, is what is damaged
	}
	var answer any
	if err := json.Unmarshal(raw, &answer); err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s: %s", path, res.Status, raw)
	}
	walkObjects(answer, func(o map[string]any) {
		kept := map[string]any{}
		for _, k := range []string{"id", "name", "instanceName", "createdAt", "ownerJid", "remoteJid", "phoneJid", "lid", "pushName", "url", "message"} {
			if v, ok := o[k]; ok {
				kept[k] = v
			}
		}
		if len(kept) == 0 {
			return // such as a chat whose contact, with its name, is what is damaged
		}
		text, _ := json.Marshal(kept)
		answers[path+" "+string(text)] = true
	})
	return nil
}

// walkObjects calls fn for the objects of a list, however it is wrapped.
func walkObjects(v any, fn func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if o, ok := e.(map[string]any); ok {
				fn(o)
			}
		}
	case map[string]any:
		if records, ok := v["records"].([]any); ok {
			walkObjects(records, fn)
			return
		}
		fn(v)
	}
}
