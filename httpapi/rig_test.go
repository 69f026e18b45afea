package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"postern/access"
	"postern/backup"
	"postern/batch"
	"postern/batch/optout"
	"postern/batch/record"
	"postern/console/trouble"
	"postern/delivery"
	"postern/delivery/logbook"
	"postern/delivery/outbox"
	"postern/delivery/pull"
	"postern/delivery/receivers"
	"postern/dispatch"
	"postern/event"
	"postern/httpapi/alerts"
	"postern/httpapi/idempotency"
	"postern/httpapi/instances"
	"postern/httpapi/operator"
	"postern/httpapi/rest"
	"postern/httpapi/tokens/tokenstest"
	"postern/instance"
	"postern/instance/erasure"
	"postern/instance/later"
	"postern/instance/pace"
	"postern/instance/webhooks"
	"postern/media"
	"postern/media/cache"
	"postern/media/kept"
	"postern/media/link"
	"postern/messages"
	"postern/store"
)

// connectTimeout is the wait in tests of an unanswered connect.
const connectTimeout = 300 * time.Millisecond

var testSecret = tokenstest.Secret()

// rig is the interface over a real registry, engine and file. Only WhatsApp and the hub are simulated.
type rig struct {
	spool     string // the folder of files on their way
	media     *media.Library
	t         testing.TB
	h         http.Handler // of api, with an eye on what it answers
	api       *api
	config    Config // of api
	store     *store.Store
	box       *outbox.Outbox
	ledger    *delivery.Ledger
	log       *logbook.Log
	resolve   func(delivery.Lane) (event.Destination, delivery.Status) // of the ledger; nil: all are paused
	registry  *instance.Registry
	messages  *messages.Archive
	troubles  *trouble.Watch
	engine    *batch.Engine
	optouts   *optout.Book
	scheduled *later.Scheduler
	line      *line
	hub       *recordingHub
	user      uuid.UUID
	token     string

	mu        sync.Mutex
	published []event.Notice // by the instances

	logged bytes.Buffer // by the interface and the instances; guarded by mu

	posted  event.Notice // by webhook/test
	answers int          // what the receiver answers to it
}

func (r *rig) post(_ context.Context, n event.Notice) (int, error) {
	r.posted = n
	if r.answers != http.StatusOK {
		return r.answers, errors.New("receiver answered otherwise")
	}
	return r.answers, nil
}

// Write receives the log.
func (r *rig) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.logged.Write(line)
}

func (r *rig) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (r *rig) publish(n event.Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.published = append(r.published, n)
}

// notices returns the events since the last call.
func (r *rig) notices() (all []event.Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, r.published = r.published, nil
	return all
}

func newRig(t testing.TB) *rig {
	t.Helper()
	return newRigWith(t, store.Options{NoSync: true, MinFree: 1})
}

// newRigOnDisk returns a rig whose disk counts as full below minFree bytes.
func newRigOnDisk(t testing.TB, minFree uint64) *rig {
	t.Helper()
	return newRigWith(t, store.Options{NoSync: true, MinFree: minFree})
}

// newRigWith returns a rig whose file is opened with these options, and whose instances are configured by adapt.
func newRigWith(t testing.TB, o store.Options, adapt ...func(*instance.Config)) *rig {
	t.Helper()
	o.Path, o.Buckets = filepath.Join(t.TempDir(), "t.db"), slices.Concat(record.Buckets(), optout.Buckets(), later.Buckets(), instance.Buckets(), webhooks.Buckets(), messages.Buckets(), media.Buckets(), link.Buckets(), kept.Buckets(), alerts.Buckets(), pace.Buckets(), idempotency.Buckets(), delivery.Buckets(), logbook.Buckets(), access.Buckets(), receivers.Buckets(), erasure.Buckets())
	st, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	r := &rig{t: t, store: st, line: &line{}, hub: &recordingHub{}}
	resolve := func(l delivery.Lane) (event.Destination, delivery.Status) {
		if r.resolve == nil {
			return event.Destination{}, delivery.Paused
		}
		return r.resolve(l)
	}
	if r.box, err = outbox.Open(st); err != nil {
		t.Fatal(err)
	}
	ledger, err := delivery.Open(st, delivery.Config{Log: true, Outbox: r.box, Resolve: resolve})
	if err != nil {
		t.Fatal(err)
	}
	log := logbook.New(ledger, logbook.Config{})
	if err := errors.Join(ledger.Start(t.Context()), log.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = log.Stop(context.Background()), ledger.Stop(context.Background()) })
	r.ledger, r.log = ledger, log
	if r.messages, err = messages.Open(t.Context(), messages.Config{Store: st, Owner: instance.There, SaveUpdates: true, Logger: r.logger()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.messages.Close)
	records := instance.Config{Store: st, Messages: r.messages, Ledger: ledger, Publish: r.publish, Logger: r.logger()}
	for _, change := range adapt {
		change(&records)
	}
	r.registry, err = instance.Open(t.Context(), records)
	if err != nil {
		t.Fatal(err)
	}
	if r.optouts, err = optout.Open(optout.Config{Store: st, Open: batch.MayStillSend}); err != nil {
		t.Fatal(err)
	}
	r.engine, err = batch.New(batch.Config{Store: st, Outbox: r.box, OptOuts: r.optouts, Fleet: noFleet{}, NewMessageID: uuid.NewString})
	if err != nil {
		t.Fatal(err)
	}
	pacer, err := pace.Open(t.Context(), pace.Config{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	sup := instance.NewSupervisor(instance.SupervisorConfig{
		Registry: r.registry, Pacer: pacer, Connector: r.line, AutoReconnect: true, ConnectTimeout: connectTimeout, InitialDelay: time.Hour, MaxDelay: time.Hour,
	})
	t.Cleanup(func() { _ = sup.Stop(context.Background()) })
	r.spool = filepath.Join(t.TempDir(), "media")
	r.media, err = media.New(media.Config{Store: st, Dir: r.spool})
	if err != nil {
		t.Fatal(err)
	}
	r.scheduled = later.New(later.Config{Store: st, Registry: r.registry, Supervisor: sup, Spool: r.media.Spool})
	if err := r.scheduled.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.scheduled.Stop(context.Background()) })
	pauses, err := receivers.OpenPauses(st, func([]delivery.Lane) {}, r.logger())
	if err != nil {
		t.Fatal(err)
	}
	shelf := &receivers.Book{Config: receivers.Config{
		Store: st, Outbox: r.box, Health: receivers.NewHealth(st.Now), Pauses: pauses, Resolve: resolve,
		Places:   func(int64) []receivers.Place { return nil },
		Pulling:  func(int64) ([]receivers.Pulling, error) { return nil, nil },
		InMemory: func() map[delivery.Lane]receivers.InMemory { return nil },
		Probe:    func(delivery.Lane) time.Time { return time.Time{} },
	}}
	r.troubles = trouble.New(trouble.Config{
		Accounts: func() []trouble.Account { return nil }, Receivers: func() ([]receivers.Row, error) { return nil, nil }, Jobs: func() []trouble.Job { return nil },
		Program: func() []trouble.Condition { return nil }, Changed: func() {}, Touched: func(int64) {}, Watched: func() bool { return false }, Now: st.Now, Logger: r.logger(),
	})
	erasures := erasure.New(erasure.Config{
		Store: st, Messages: r.messages, Ledger: ledger, Logger: r.logger(),
		Account: func(id int64) (string, []string, error) {
			rec, err := r.registry.ByID(id)
			return rec.Name, []string{rec.OwnerJID, rec.OwnerLID}, err
		},
		Person: func(string) []string { return nil },
	})
	processor := later.NewProcessor(later.ProcessorConfig{Store: st, Registry: r.registry, Supervisor: sup})
	who := rest.Access{Sessions: access.NewSessions(st), Links: access.NewLinks(st)}
	if who.Keys, err = access.OpenKeys(st, r.logger()); err != nil {
		t.Fatal(err)
	}
	if who.Book, err = access.OpenBook(st, r.logger()); err != nil {
		t.Fatal(err)
	}
	r.config = Config{
		Config: rest.Config{Access: who, Store: st, APIKey: testKey, JWTSecret: testSecret, Logger: r.logger()},
		Program: operator.Program{
			Troubles:   r.troubles,
			AgentTools: []string{"read_messages", "send_message", "unknown"}, Backup: r.backup, Samples: r.samples(),
			Metrics: func(opens func(int64) bool) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					for _, rec := range r.registry.List() {
						if opens == nil || opens(rec.ID) {
							_, _ = io.WriteString(w, "up "+rec.Name+"\n")
						}
					}
					if opens == nil {
						_, _ = io.WriteString(w, "program 1\n")
					}
				})
			},
		},
		Registry: r.registry, Messages: r.messages, Supervisor: sup, Engine: r.engine, OptOuts: r.optouts, Media: r.media, Processor: processor, Scheduled: r.scheduled, Erasures: erasures, Hub: r.hub, Outbox: r.box,
		Transfers:    instances.Transfers{Export: r.export, Undo: r.registry.MoveBack, Import: r.importAccount},
		NewMessageID: uuid.NewString, Post: r.post,
		Relay: dispatch.NewRelay(dispatch.RelayConfig{Store: st, Outbox: r.box, Ledger: ledger, Resolve: resolve}), Deliveries: log, Receivers: shelf, Consumers: pull.New(st, instance.There, r.box.Emitted, slog.New(slog.DiscardHandler)),
		Fetched: cache.New(cache.Config{Create: r.media.Create, Max: 1 << 20, Wait: time.Second}), FileServed: func(int) {},
	}
	t.Cleanup(func() { _ = r.config.Fetched.Close(context.Background()) })
	if r.config.Kept, err = kept.Open(kept.Config{Store: st, Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if r.config.Links, err = link.Open(st, testSecret, instance.There); err != nil {
		t.Fatal(err)
	}
	r.h, err = New(r.config)
	if err != nil {
		t.Fatal(err)
	}
	r.api = r.h.(*api)
	r.h = witnessed(t, r.h)
	r.user, r.token = r.newUser()
	return r
}

// spooled returns the files in the spool folder.
func (r *rig) spooled() []string {
	r.t.Helper()
	left, err := filepath.Glob(filepath.Join(r.spool, "*"))
	if err != nil {
		r.t.Fatal(err)
	}
	return left
}

// admin sends a request with the global key.
func (r *rig) admin(method, path, body string) *http.Response {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("apikey", testKey)
	return do(r.h, req)
}

// instance creates an instance over the API and returns its token.
func (r *rig) instance(name string) (token string) {
	r.t.Helper()
	created := decoded[instances.CreatedInstance](r.t, r.admin("POST", "/instance", `{"instanceName":"`+name+`"}`))
	return created.Auth.Token
}

// timelessToken creates an instance whose token does not state when it was issued, because the year is 2000 in a bubble.
func (r *rig) timelessToken(name string) (token string) {
	r.t.Helper()
	r.instance(name)
	rec, err := r.registry.ByName(name)
	if err != nil {
		r.t.Fatal(err)
	}
	token = tokenstest.Signed(r.t, jwt.SigningMethodHS256, testSecret, jwt.MapClaims{"instanceName": name}, nil)
	if _, err := r.registry.SetToken(r.t.Context(), rec.ID, "", token); err != nil {
		r.t.Fatal(err)
	}
	return token
}

// fact is published by the only session of a rig.
func (r *rig) fact(f event.Fact) {
	r.t.Helper()
	if err := r.line.report(r.t.Context(), f); err != nil {
		r.t.Fatal(err)
	}
}

// export returns an export as the program's, of an account that is a text.
func (r *rig) export(ctx context.Context, id int64, by string, _ bool, _ []age.Recipient) (instances.Outgoing, error) {
	const account = "the account"
	out := instances.Outgoing{Content: strings.NewReader(account), Size: int64(len(account)), End: func(whole bool) error {
		if whole {
			return nil
		}
		return r.registry.MoveBack(context.WithoutCancel(ctx), id, by)
	}}
	return out, r.registry.Move(ctx, id, by)
}

// importAccount creates an instance from that text.
func (r *rig) importAccount(ctx context.Context, file io.Reader, name string, before func(string)) (in instances.Imported, err error) {
	raw, err := io.ReadAll(file)
	if err == nil && string(raw) != "the account" {
		err = fmt.Errorf("%w: it says %.20q", instances.ErrArchive, raw)
	}
	if err != nil {
		return in, err
	}
	before(name)
	in.Record, err = r.registry.Create(ctx, instance.New{Name: name, Mint: r.api.instances.Mint})
	return in, err
}

// backup returns a backup of the rig's file.
func (r *rig) backup(ctx context.Context, withoutSecrets bool) (*backup.Archive, func() error, error) {
	data, err := r.store.Snapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	s := backup.Source{Data: data, Secrets: []byte("{}"), At: data.At()}
	if withoutSecrets {
		s.Secrets = nil
	}
	a, err := backup.New(ctx, s)
	return a, data.Close, err
}
