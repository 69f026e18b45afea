package device

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	signal "go.mau.fi/libsignal/state/record"
	wastore "go.mau.fi/whatsmeow/store"

	"postern/internal/nightly"
	"postern/store"
)

// messenger uses sessions at random like the library, and records the keys that
// encrypted sent messages.
type messenger struct {
	*rand.Rand
	t    *testing.T
	f    *file
	s    wastore.AllStores
	used map[string]bool
	most bool // each message to everybody, with as many keys as there can be
}

var errRefused = errors.New("refused")

func (m *messenger) address() string { return fmt.Sprintf("77_1:%d", m.IntN(2)) }

// some is from 1 to n.
func (m *messenger) some(n int) int {
	if m.most {
		return n
	}
	return 1 + m.IntN(n)
}

// encrypt uses one key of the session.
func (m *messenger) encrypt(session []byte) (after []byte, key string) {
	rec, err := parseSession(session)
	check(m.t, err)
	state := rec.SessionState()
	key = fmt.Sprintf("%x %d", state.SenderRatchetKey().PublicKey(), state.SenderChainKey().Index())
	return encrypted(m.t, session, 1), key
}

func (m *messenger) left(keys ...string) {
	m.t.Helper()
	for _, k := range keys {
		if m.used[k] {
			m.t.Fatalf("the key %s encrypts two messages", k)
		}
		m.used[k] = true
	}
}

// send is a message to one or both addresses, with a write that may fail. A message to
// oneself goes to one device twice.
func (m *messenger) send() {
	addresses, failures := []string{"77_1:0", "77_1:1"}[:m.some(2)], max(0, m.IntN(6)-3)
	var keys []string
	err := m.f.container.Sending(m.t.Context(), nil, func(ctx context.Context) error {
		sendingOf(ctx).waiting = append(sendingOf(ctx).waiting, func(*store.Tx) error {
			if failures--; failures >= 0 {
				return errRefused
			}
			return nil
		})
		sessions, err := m.s.GetManySessions(ctx, addresses)
		if err != nil {
			return err
		}
		for address, session := range sessions {
			if session == nil {
				session = ratchet(m.t, 0)
			}
			for range m.some(keysPerMessage) {
				var key string
				session, key = m.encrypt(session)
				keys = append(keys, key)
			}
			sessions[address] = session
		}
		return m.s.PutManySessions(ctx, sessions)
	})
	if err == nil {
		m.left(keys...)
	}
}

// again is a message that is sent again, sometimes with a new session. Anything else
// may happen between its read and its write.
func (m *messenger) again(depth int) {
	address, ctx := m.address(), m.t.Context()
	session, err := m.s.GetSession(ctx, address)
	if err != nil {
		return
	}
	m.meanwhile(depth)
	if m.IntN(3) == 0 || session == nil {
		fresh := ratchet(m.t, 0)
		if session != nil {
			fresh = renewed(m.t, session)
		}
		if m.s.PutSession(ctx, address, fresh) != nil {
			return
		}
		m.meanwhile(depth)
		if session, err = m.s.GetSession(ctx, address); err != nil || session == nil {
			return
		}
		m.meanwhile(depth)
	}
	after, key := m.encrypt(session)
	if m.s.PutSession(ctx, address, after) == nil {
		m.left(key)
	}
}

func (m *messenger) meanwhile(depth int) {
	for range m.IntN(3) {
		m.step(depth + 1)
	}
}

// decrypt reads an answer, possibly to an earlier session, which may turn out to be
// unreadable. Mostly it rides on the next commit.
func (m *messenger) decrypt() {
	address := m.address()
	ctx := m.t.Context()
	if m.IntN(4) > 0 {
		ctx = Riding(ctx)
	}
	_ = m.s.DoDecryptionTxn(ctx, func(ctx context.Context) error {
		session, err := m.s.GetSession(ctx, address)
		if err != nil || session == nil {
			return err
		}
		rec, err := parseSession(session)
		check(m.t, err)
		if before := rec.PreviousSessionStates(); len(before) > 0 && m.IntN(3) == 0 {
			session = promoted(m.t, session, m.IntN(len(before)))
		}
		if m.IntN(2) == 0 {
			session = answered(m.t, session)
		}
		if err := m.s.PutSession(ctx, address, session); err != nil || m.IntN(4) > 0 {
			return err
		}
		return errDecrypt
	})
}

// promoted makes a former state the present one.
func promoted(t *testing.T, session []byte, i int) []byte {
	t.Helper()
	rec, err := parseSession(session)
	check(t, err)
	all := rec.Structure()
	state := all.PreviousStates[i]
	all.PreviousStates = slices.Concat([]*signal.StateStructure{all.SessionState}, all.PreviousStates[:i], all.PreviousStates[i+1:])
	all.SessionState = state
	return wastore.SignalProtobufSerializer.Session.Serialize(all)
}

// crash ends the process after messages were sent whose sessions are not in the file:
// their last writes failed, or have not begun. Half of the time it uses the file as it
// is, without the pending writes.
func (m *messenger) crash() {
	if m.IntN(2) == 0 {
		before, err := os.ReadFile(m.f.path)
		check(m.t, err)
		check(m.t, m.f.Close())
		check(m.t, os.WriteFile(m.f.path, before, 0o600))
		m.f.open(m.t)
		m.s = m.f.stores(m.t, 1)
		return
	}
	check(m.t, m.f.Update(m.t.Context(), func(*store.Tx) error { return nil }))
	release, list := func() {}, &m.s.(both).flights.list
	if len(*list) == 0 {
		release = sync.OnceFunc(hold(m.t, m.f))
		defer release()
		m.most = m.IntN(2) == 0
		for range m.some(maxFlights) {
			m.send()
		}
		m.most = false
	}
	before, err := os.ReadFile(m.f.path)
	check(m.t, err)
	release()
	check(m.t, m.f.Close())
	check(m.t, os.WriteFile(m.f.path, before, 0o600))
	m.f.open(m.t)
	m.s = m.f.stores(m.t, 1)
}

func (m *messenger) step(depth int) {
	switch n := m.IntN(20); {
	case n < 9:
		m.send()
	case n < 13 && depth < 3:
		m.again(depth)
	case n < 18:
		m.decrypt()
	case n < 19:
		_ = m.s.DeleteSession(m.t.Context(), m.address())
	case depth > 0:
	case m.IntN(3) == 0:
		_ = m.f.container.Close(m.t.Context()) // with a write that fails, a crash
		m.f.crash(m.t)
		m.s = m.f.stores(m.t, 1)
	default:
		m.crash()
	}
}

func TestNoKeyEncryptsTwoMessages(t *testing.T) {
	for seed := range nightly.Or[uint64](1, 4) {
		f := newFile(t)
		m := &messenger{Rand: rand.New(rand.NewPCG(seed, 3)), t: t, f: f, s: f.stores(t, 1), used: map[string]bool{}}
		for range 800 {
			m.step(0)
		}
		if len(m.used) < 300 {
			t.Errorf("seed %d: only %d messages left", seed, len(m.used))
		}
	}
}
