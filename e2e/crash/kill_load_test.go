package crash

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/cli/consumer"
	"postern/e2e/capture"
	"postern/e2e/rig"
	"postern/event"
	"postern/httpapi/tokens"
	"postern/sandbox"
)

const (
	killsByDefault = 8 // in `go test`; `make crash ROUNDS=n` asks for more
	killsPerSiege  = 50
	siegeAccounts  = 3
	siegeUsers     = 2
	siegeNumbers   = 200
)

func killRounds() int {
	if n, err := strconv.Atoi(os.Getenv("ROUNDS")); err == nil && n > 0 {
		return n
	}
	return killsByDefault
}

// killSeed is SEED, or anything.
func killSeed() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		return n
	}
	return rand.Uint64N(1_000_000)
}

// TestKillUnderLoad kills the real program
// with SIGKILL again and again, at random and at chosen moments, while users,
// phones, the network and the receiver of the webhooks continue as they like. The
// checks are those of siege.verify and siege.checkFile.
func TestKillUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills real processes")
	}
	seed, left := killSeed(), killRounds()
	struck := map[moment]int{}
	for ; left > 0; left -= killsPerSiege {
		kills := min(left, killsPerSiege)
		t.Run(fmt.Sprintf("SEED=%d ROUNDS=%d", seed, kills), func(t *testing.T) {
			s := newSiege(t, seed)
			s.begin()
			for at, n := range s.hold(kills) {
				struck[at] += n
			}
			s.verify()
		})
		seed++
	}
	for _, at := range slices.Sorted(maps.Keys(struck)) {
		t.Logf("%4d kills: %s", struck[at], at)
	}
}

// siege is a world under load: everything that happens to a program while it
// is killed, and the ledger of what it was asked and what it promised.
type siege struct {
	*rig.World
	seed   uint64
	addr   string
	trap   trap
	wire   *wire
	site   *site
	client http.Client
	ctx    context.Context // of the load
	cancel context.CancelFunc
	actors sync.WaitGroup
	load   sync.WaitGroup // all else that has to end: processes and what is left of requests

	startTakes time.Duration // until the program is ready
	users      []*user
	accounts   []*account
	numbers    []string     // the recipients
	files      string       // URL of a server of pictures
	uploadID   string       // of a picture that was uploaded before
	lives      atomic.Int64 // how often the program was started
	weather    weather
	ledger     ledger

	arrived       arrivals // at durable endpoints
	durableEvents int

	lastWord atomic.Pointer[string] // a text that is waited for at the receiver
	heard    atomic.Bool
	over     atomic.Bool // the results of asynchronous sends are not compared any more

	results  map[string]int     // items by status, for the report
	answers  map[int]int        // to sends
	reported map[event.Kind]int // batch events
}

// account is one instance and the phone that it is linked to.
type account struct {
	name, token string
	phone       *sandbox.Phone
	stranger    *sandbox.Phone // who writes to it
	group       string         // in which it is with all strangers
}

func newSiege(t *testing.T, seed uint64) *siege {
	s := &siege{World: rig.NewWorld(t), seed: seed, addr: steadyAddress(t), ledger: newLedger(), results: map[string]int{}, answers: map[int]int{}, reported: map[event.Kind]int{}}
	s.Output = &capture.Buffer{}
	s.API = consumer.NewClient("http://" + s.addr)
	s.client = http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	t.Cleanup(s.client.CloseIdleConnections)
	direct := s.Sandbox.Endpoint().URL
	host := strings.Split(direct, "/")[2]
	s.wire = newWire(t, host, &s.trap)
	s.site = &site{addr: steadyAddress(t), handler: s.receiver()}
	if err := s.site.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.site.close)
	s.files = newFiles(t)
	s.Env = []string{
		"MEDIA_ALLOW_PRIVATE=true",
		"WHATSAPP_ENDPOINT=" + strings.Replace(direct, host, s.wire.listener.Addr().String(), 1),
		"WEBHOOK_GLOBAL_URL=http://" + s.site.addr + "/global", "LOG_LEVEL=warn",
		"MESSAGE_BATCH_SHUTDOWN_TIMEOUT_MS=1000",
		"MESSAGE_BATCH_FAILURE_STREAK=0", // its network refuses many in a row; no test waits an hour for the end
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(s.keepEvidence) // before the data folder is removed
	t.Cleanup(func() { s.cancel(); _ = s.Cmd.Process.Kill(); s.actors.Wait(); s.load.Wait() })
	return s
}

// keepEvidence copies the data file and the program's output of a test that
// failed to a folder that stays.
func (s *siege) keepEvidence() {
	if !s.T.Failed() {
		return
	}
	folder, err := os.MkdirTemp("", fmt.Sprintf("postern-crash-seed-%d-", s.seed))
	if err != nil {
		s.T.Log(err)
		return
	}
	if err := os.CopyFS(filepath.Join(folder, "data"), os.DirFS(filepath.Dir(s.DataFile()))); err != nil {
		s.T.Log(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "output.txt"), []byte(s.Output.String()), 0o600); err != nil {
		s.T.Log(err)
	}
	s.T.Logf("kept in %s", folder)
}

// begin pairs the instances.
func (s *siege) begin() {
	begun := time.Now()
	s.Launch(s.addr)
	s.Await("the first start", func() bool {
		return s.API.Call(s.T.Context(), consumer.Credential{}, http.MethodGet, "/ready", nil, nil) == nil
	})
	s.startTakes = time.Since(begun)
	for i := range siegeAccounts {
		l := &account{name: fmt.Sprintf("line-%d", i+1)}
		l.token = s.Pair(l.name)
		var status struct{ OwnerJid string }
		s.Call(consumer.Bearer(l.token), http.MethodGet, "/instance/"+l.name+"/connection/status", nil, &status)
		number, _, _ := strings.Cut(status.OwnerJid, "@")
		number, _, _ = strings.Cut(number, ":")
		var ok bool
		if l.phone, ok = s.Sandbox.Phone(number); !ok {
			s.T.Fatalf("no phone %q", status.OwnerJid)
		}
		var err error
		if l.stranger, err = s.Sandbox.AddPhone(sandbox.PhoneOptions{Number: fmt.Sprintf("4915550000%02d1", i), PushName: "Anne"}); err != nil {
			s.T.Fatal(err)
		}
		s.accounts = append(s.accounts, l)
	}
	for i := range siegeNumbers {
		s.numbers = append(s.numbers, fmt.Sprintf("49160000%04d", i+1))
	}
	for range siegeUsers {
		id := uuid.New()
		token, err := tokens.ForUser([]byte(s.Sec.JWTSecret), id, 24*time.Hour, time.Now())
		if err != nil {
			s.T.Fatal(err)
		}
		s.users = append(s.users, &user{siege: s, id: id, token: token})
	}
	s.furnish()
	s.makeDurable()
	s.Kill()
}

// hold keeps the load up while the program is killed so many times. It leaves
// the program running, and everyone quiet.
func (s *siege) hold(kills int) map[moment]int {
	rng := rand.New(rand.NewPCG(s.seed, 0))
	s.unleash()
	struck := map[moment]int{}
	var next []moment
	for done := 0; done < kills && !s.T.Failed(); {
		if len(next) == 0 {
			next = moments(rng)
		}
		at := next[0]
		next = next[1:]
		p := s.run()
		s.strike(p, at, rng)
		switch {
		case p.killed():
			struck[at]++
			done++
		case at != inShutdown || p.state.ExitCode() != 0:
			s.T.Errorf("the program ended by itself: %v\n%s", p.state, s.Output)
		}
	}
	last := s.run()
	s.ready(last)
	s.cancel()
	s.weather.set(fair)
	s.Sandbox.SetFaults(sandbox.Faults{})
	return struck
}

// unleash starts the load. Every actor has a seed of its own.
func (s *siege) unleash() {
	actors := []func(context.Context, *rand.Rand){s.changeWeather, s.disturbNetwork}
	for _, u := range s.users {
		actors = append(actors, u.work, u.work, u.follow)
	}
	for _, l := range s.accounts {
		actors = append(actors,
			func(ctx context.Context, rng *rand.Rand) { s.sendTexts(ctx, rng, l) },
			func(ctx context.Context, rng *rand.Rand) { s.writeTo(ctx, rng, l) },
			func(ctx context.Context, rng *rand.Rand) { s.configure(ctx, rng, l) },
			func(ctx context.Context, rng *rand.Rand) { s.replaySome(ctx, rng, l) },
		)
	}
	for i, act := range actors {
		s.actors.Go(func() { act(s.ctx, rand.New(rand.NewPCG(s.seed, uint64(i+1)))) })
	}
}

// rest waits for a while at random; it reports false when the load ends.
func rest(ctx context.Context, rng *rand.Rand, most time.Duration) bool {
	timer := time.NewTimer(time.Duration(rng.Int64N(int64(most))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
