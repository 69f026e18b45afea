package clientversion

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postern/store"
	"postern/whatsapp"
)

// rig is a refresher on a real file, with a simulated WhatsApp.
type rig struct {
	testing.TB
	path    string
	setting string
	s       *store.Store
	r       *Refresher
	log     bytes.Buffer

	mu      sync.Mutex
	version whatsapp.Version
	answer  func(context.Context) (whatsapp.Version, error)
	asked   []time.Time
	through []int64
	refused []int64
	ended   []bool
}

func newRig(t testing.TB, setting string) *rig {
	t.Helper()
	g := &rig{TB: t, path: filepath.Join(t.TempDir(), "v.db"), setting: setting, refused: []int64{1}}
	g.answer = func(context.Context) (whatsapp.Version, error) { return whatsapp.Version{}, errors.New("no route") }
	g.boot()
	return g
}

func (g *rig) boot() {
	g.Helper()
	var err error
	if g.s, err = store.Open(store.Options{Path: g.path, Buckets: Buckets(), NoSync: true, MinFree: 1}); err != nil {
		g.Fatal(err)
	}
	g.r, err = Open(Config{
		Store: g.s, Setting: g.setting, Client: g, Logger: slog.New(slog.NewTextHandler(&g.log, nil)),
		Refused: func() []int64 {
			g.mu.Lock()
			defer g.mu.Unlock()
			return g.refused
		},
		Renew: func(found bool) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.ended = append(g.ended, found)
		},
	})
	if err != nil {
		g.Fatal(err)
	}
	g.r.Start()
}

func (g *rig) stop() {
	g.Helper()
	if err := errors.Join(g.r.Stop(bg), g.s.Close()); err != nil {
		g.Error(err)
	}
}

func (g *rig) reboot() {
	g.Helper()
	g.stop()
	g.boot()
}

// Version, SetVersion and AskVersion implement Client.
func (g *rig) Version() whatsapp.Version {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.version
}

func (g *rig) SetVersion(v whatsapp.Version) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.version = v
}

func (g *rig) AskVersion(ctx context.Context, instance int64) (whatsapp.Version, error) {
	g.mu.Lock()
	g.asked, g.through = append(g.asked, time.Now()), append(g.through, instance)
	answer := g.answer
	g.mu.Unlock()
	return answer(ctx)
}

// names makes WhatsApp return a version after a second.
func (g *rig) names(v whatsapp.Version) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answer = func(ctx context.Context) (whatsapp.Version, error) {
		select {
		case <-time.After(time.Second):
			return v, nil
		case <-ctx.Done():
			return v, ctx.Err()
		}
	}
}

func (g *rig) wantAsked(n int) {
	g.Helper()
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.asked) != n {
		g.Errorf("asked %d times, want %d: %v", len(g.asked), n, g.asked)
	}
}

func (g *rig) wantCurrent(v whatsapp.Version, source Source) {
	g.Helper()
	if version, from := g.r.Current(); version != v.String() || from != source || g.Version() != v {
		g.Errorf("in use is %s (%s), %v, want %s (%s)", version, from, g.Version(), v, source)
	}
}

// refuse reports a rejection of the version in use.
func (g *rig) refuse(instance int64) (known, asked bool) {
	return g.r.Outdated(instance, g.Version().String())
}

// learns rejects the version in use, and makes WhatsApp return another one.
func (g *rig) learns(v whatsapp.Version) {
	g.names(v)
	g.refuse(1)
	time.Sleep(2 * time.Second)
}

func newer(by uint32) whatsapp.Version {
	v := whatsapp.BuiltinVersion()
	v[2] += by
	return v
}

func inBubble(t *testing.T, setting string, fn func(g *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, setting)
		fn(g)
		g.stop()
	})
}

func (g *rig) keepIn(s *store.Store) {
	g.r.mu.Lock()
	defer g.r.mu.Unlock()
	g.r.cfg.Store = s
}
