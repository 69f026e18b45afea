package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.mau.fi/libsignal/ecc"
	"go.mau.fi/libsignal/kdf"
	"go.mau.fi/libsignal/keys/chain"
	"go.mau.fi/libsignal/keys/identity"
	"go.mau.fi/libsignal/keys/root"
	signal "go.mau.fi/libsignal/state/record"
	wastore "go.mau.fi/whatsmeow/store"

	"postern/store"
)

const ada = "77_1:0"

// ratchet is a session that has sent some messages.
func ratchet(t *testing.T, sent int) []byte {
	t.Helper()
	pair, err := ecc.GenerateKeyPair()
	check(t, err)
	serializer := wastore.SignalProtobufSerializer
	rec := signal.NewSession(serializer.Session, serializer.State)
	state := rec.SessionState()
	state.SetLocalIdentityKey(identity.NewKey(pair.PublicKey()))
	state.SetRemoteIdentityKey(identity.NewKey(pair.PublicKey()))
	state.SetRootKey(root.NewKey(kdf.DeriveSecrets, make([]byte, 32)))
	state.SetSenderBaseKey(pair.PublicKey().Serialize())
	state.SetSenderChain(pair, chain.NewKey(kdf.DeriveSecrets, bytes.Repeat([]byte{1}, 32), 0))
	return encrypted(t, rec.Serialize(), sent)
}

// encrypted is the session after some more messages.
func encrypted(t *testing.T, session []byte, messages int) []byte {
	t.Helper()
	after, err := moveAhead(session, messages)
	check(t, err)
	return after
}

// sentWith returns how many messages the stored session has sent, -1 if there is none.
func sentWith(t *testing.T, s wastore.AllStores) int {
	t.Helper()
	session := stored(t, s)
	if session == nil {
		return -1
	}
	return sent(t, session)
}

func sent(t *testing.T, session []byte) int {
	t.Helper()
	rec, err := parseSession(session)
	check(t, err)
	return int(rec.SessionState().SenderChainKey().Index())
}

// leave sends one message with the session like the library.
func leave(t *testing.T, f *file, s wastore.AllStores, id string) {
	t.Helper()
	check(t, f.container.Sending(t.Context(), nil, func(ctx context.Context) error {
		check(t, s.AddOutgoingEvent(ctx, lid, id, "wa", []byte(id)))
		check(t, s.PutMessageSecret(ctx, lid, phone, id, []byte(id)))
		sessions, err := s.GetManySessions(ctx, []string{ada})
		check(t, err)
		return s.PutManySessions(ctx, map[string][]byte{ada: encrypted(t, sessions[ada], 1)})
	}))
}

func TestSendTakesOneCommit(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1)
	check(t, s.PutSession(t.Context(), ada, ratchet(t, 0)))
	cost := f.commits(func() {
		leave(t, f, s, "A")
		_, text, err := s.GetOutgoingEvent(t.Context(), lid, phone, "A")
		wantBytes(t, "message", text, err, []byte("A"))
		leave(t, f, s, "B")
		secret, _, err := s.GetMessageSecret(t.Context(), lid, phone, "B")
		wantBytes(t, "secret", secret, err, []byte("B"))
	})
	if cost != 2 {
		t.Errorf("two sends cost %d commits", cost)
	}
	f.reopen(t)
	s = f.stores(t, 1)
	_, text, err := s.GetOutgoingEvent(t.Context(), lid, phone, "A")
	wantBytes(t, "message after a restart", text, err, []byte("A"))
	secret, _, err := s.GetMessageSecret(t.Context(), lid, phone, "A")
	wantBytes(t, "secret after a restart", secret, err, []byte("A"))
	if n := sentWith(t, s); n != 2 {
		t.Errorf("the session has sent %d after a restart in order, want 2", n)
	}
}

// A message and its outcome cost one commit. Without an outcome, the sessions are in
// the file after a second.
func TestSessionsRideOnTheNextCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFile(t)
		defer func() { check(t, f.Close()) }()
		s := f.stores(t, 1).(both)
		check(t, s.PutSession(t.Context(), ada, ratchet(t, 0)))
		inFile := func() int {
			var raw []byte
			check(t, f.View(func(tx *store.Tx) (err error) {
				raw, err = direct{tx, 1}.get(sessionKey(ada))
				return err
			}))
			session, err := s.c.decodeSession(raw)
			check(t, err)
			return sent(t, session)
		}
		cost := f.commits(func() {
			leave(t, f, s, "A")
			synctest.Wait()
			if n := inFile(); n != 0 {
				t.Errorf("%d messages are in the file without a request for a commit", n)
			}
			check(t, f.Update(t.Context(), func(tx *store.Tx) error {
				_, text, _ := bytes.Cut(must(direct{tx, 1}.get(outgoingKey(lid, "A")))[8:], []byte{0})
				wantBytes(t, "message, seen by the commit of its result,", text, nil, []byte("A"))
				return nil
			}))
		})
		if n := inFile(); n != 1 || cost != 1 {
			t.Errorf("%d messages in the file after %d commits, want 1 after 1", n, cost)
		}
		cost = f.commits(func() {
			leave(t, f, s, "B")
			time.Sleep(maxRide)
			synctest.Wait()
		})
		if n := inFile(); n != 2 || cost != 1 || len(s.flights.list) != 0 {
			t.Errorf("%d messages in the file after %d more commits, %d in memory; want 2 after 1", n, cost, len(s.flights.list))
		}
	})
}

// must is for closures.
func must(v []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return v
}

func TestAMessageWithoutSessionIsKeptToo(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1)
	check(t, f.container.Sending(t.Context(), nil, func(ctx context.Context) error {
		return s.AddOutgoingEvent(ctx, group, "N", "wa", []byte("n"))
	}))
	_, text, err := s.GetOutgoingEvent(t.Context(), group, group, "N")
	wantBytes(t, "message", text, err, []byte("n"))
}

func TestASendThatFailsLeavesNothing(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1)
	failed := errors.New("no network")
	cost := f.commits(func() {
		err := f.container.Sending(t.Context(), nil, func(ctx context.Context) error {
			check(t, s.AddOutgoingEvent(ctx, lid, "A", "wa", []byte("a")))
			_, err := s.GetManySessions(ctx, []string{ada})
			return errors.Join(err, failed)
		})
		if !errors.Is(err, failed) {
			t.Errorf("%v", err)
		}
	})
	if cost != 0 {
		t.Errorf("%d commits", cost)
	}
	check(t, s.PutSession(t.Context(), ada, []byte("no lock is held")))
}

// A send stores the sender key of a group, and what waits with it, before it has all that the message needs.
func TestNextAttemptReplacesTheSecret(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1)
	failed := errors.New("no network")
	attempt := func(secret string, outcome error) error {
		return f.container.Sending(t.Context(), nil, func(ctx context.Context) error {
			check(t, s.PutMessageSecret(ctx, group, phone, "A", []byte(secret)))
			check(t, s.PutSenderKey(ctx, group.String(), ada, []byte("key")))
			return outcome
		})
	}
	want := func(secret string) {
		t.Helper()
		got, _, err := s.GetMessageSecret(t.Context(), group, phone, "A")
		wantBytes(t, "secret", got, err, []byte(secret))
	}
	if err := attempt("first", failed); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	want("first")
	check(t, attempt("second", nil))
	want("second")
	check(t, s.PutMessageSecret(t.Context(), group, phone, "A", []byte("received")))
	want("second")
}

// hold keeps the writer of the file busy until the returned function is called.
func hold(t *testing.T, f *file) (release func()) {
	t.Helper()
	began, end := make(chan struct{}), make(chan struct{})
	var once sync.Once
	submitted, err := f.Submit(func(*store.Tx) error {
		once.Do(func() { close(began); <-end })
		return nil
	})
	check(t, err)
	<-began
	return func() {
		close(end)
		check(t, submitted.Wait())
	}
}

func TestSendsShareACommitOnASlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFile(t)
		defer func() { check(t, f.Close()) }()
		s := f.stores(t, 1)
		check(t, s.PutSession(t.Context(), ada, ratchet(t, 0)))
		release := hold(t, f)
		for i := range maxFlights {
			leave(t, f, s, fmt.Sprint(i))
		}
		var more sync.WaitGroup
		var left atomic.Bool
		more.Go(func() {
			leave(t, f, s, "one more")
			left.Store(true)
		})
		synctest.Wait()
		if left.Load() {
			t.Errorf("more than %d messages left", maxFlights)
		}
		before := f.Stats().Commits
		release()
		more.Wait()
		if n := sentWith(t, s); n != maxFlights+1 {
			t.Errorf("the session has sent %d, want %d", n, maxFlights+1)
		}
		if cost := f.Stats().Commits - before; cost > 3 {
			t.Errorf("%d messages cost %d commits", maxFlights, cost)
		}
	})
}

// The process ends after the last messages were sent, without their sessions in the
// file.
func TestKeyIsNotReusedAfterACrash(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1)
	received(t, s, ratchet(t, 3))
	for crashes := range 4 {
		used := sentWith(t, s) + maxFlights // of the file only the first is known
		f.crash(t)
		s = f.stores(t, 1)
		if n := sentWith(t, s); n < used {
			t.Fatalf("after %d crashes the session goes on with key %d, and %d may have been used", crashes+1, n, used)
		}
	}
	leave(t, f, s, "A")
	at := sentWith(t, s)
	f.reopen(t)
	if n := sentWith(t, f.stores(t, 1)); n != at {
		t.Errorf("a restart in order moved the session from %d to %d", at, n)
	}
}

func TestSessionFromBeforeManyCrashesIsUnused(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1)
	check(t, s.PutSession(t.Context(), ada, ratchet(t, 0)))
	for range maxSteps / stepsPerCrash {
		f.crash(t)
	}
	s = f.stores(t, 1)
	if n := sentWith(t, s); n < 0 || n > maxSteps {
		t.Errorf("the session would leave out %d messages", n)
	}
	f.crash(t)
	s = f.stores(t, 1)
	if has, err := s.HasSession(t.Context(), ada); has || err != nil {
		t.Errorf("the session is used: %v, %v", has, err)
	}
	check(t, s.PutSession(t.Context(), ada, ratchet(t, 0)))
	if n := sentWith(t, s); n != 0 {
		t.Errorf("the new session has sent %d", n)
	}
}

func TestUnknownCrashCountDisablesSessions(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1)
	check(t, s.PutSession(t.Context(), ada, ratchet(t, 0)))
	f.damage(t, `{"crashes":0,"open":true}`, `{"crashes":0,"open":tree}`)
	s = f.stores(t, 1)
	if n := sentWith(t, s); n != -1 {
		t.Errorf("a session with %d messages is used", n)
	}
	check(t, s.PutSession(t.Context(), ada, ratchet(t, 0)))
	f.crash(t)
	if n := sentWith(t, f.stores(t, 1)); n != stepsPerCrash {
		t.Errorf("after the next crash the new session has sent %d, want %d", n, stepsPerCrash)
	}
}

func TestFailedSessionWritesAreRepeatedInOrder(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1).(both)
	full, failures := errors.New("full"), 2
	for i := range 3 {
		value := map[string][]byte{ada: s.c.encodeSession([]byte(fmt.Sprint(i)))}
		check(t, s.flights.launch(t.Context(), value, func(tx *store.Tx) error {
			if i == 1 && failures > 0 {
				failures--
				return full
			}
			return direct{tx, 1}.put(sessionKey(ada), value[ada])
		}))
		check(t, f.Update(t.Context(), func(*store.Tx) error { return nil }))
	}
	if _, err := s.GetSession(t.Context(), ada); !errors.Is(err, full) {
		t.Errorf("the sessions are used although their write failed twice: %v", err)
	}
	got, err := s.GetSession(t.Context(), ada)
	wantBytes(t, "session", got, err, []byte("2"))
}

func TestDecryptionAndSendExcludeEachOther(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1)
	check(t, s.PutSession(t.Context(), ada, ratchet(t, 0)))
	const rounds = 50
	var wait sync.WaitGroup
	move := func(ctx context.Context, put func(session []byte) error) error {
		session, err := s.GetManySessions(ctx, []string{ada})
		if err != nil {
			return err
		}
		return put(encrypted(t, session[ada], 1))
	}
	wait.Go(func() {
		for range rounds {
			check(t, s.DoDecryptionTxn(t.Context(), func(ctx context.Context) error {
				return move(ctx, func(v []byte) error { return s.PutSession(ctx, ada, v) })
			}))
		}
	})
	for range 2 {
		wait.Go(func() {
			for range rounds {
				check(t, f.container.Sending(t.Context(), nil, func(ctx context.Context) error {
					return move(ctx, func(v []byte) error { return s.PutManySessions(ctx, map[string][]byte{ada: v}) })
				}))
			}
		})
	}
	wait.Wait()
	if n := sentWith(t, s); n != 3*rounds {
		t.Errorf("%d steps were written, want %d", n, 3*rounds)
	}
}

// All operations between sends see their sessions, and write after them.
func TestConcurrentSendsMatchTheReference(t *testing.T) {
	for seed := range uint64(4) {
		g := generator{rand.New(rand.NewPCG(seed, 11))}
		f := newFile(t)
		real, ref := f.stores(t, 1), newReference()
		for i := range 1500 {
			op := g.operation()
			if g.IntN(2) == 0 {
				op = g.send(f)
			}
			if got, want := op(t.Context(), real), op(t.Context(), ref); got != want {
				t.Fatalf("seed %d, operation %d saw\n%s\nwant\n%s", seed, i, got, want)
			}
			if i%300 == 299 {
				f.reopen(t)
				real = f.stores(t, 1)
				ref.reopened()
			}
		}
	}
}

// send is one send of the library, with sessions that cannot be read.
func (g generator) send(f *file) operation {
	one, two, value, id, pn, lid := g.address(), g.address(), g.bytes(), pick(g, modelIDs), g.phone(), g.lid()
	return func(ctx context.Context, s wastore.AllStores) (seen string) {
		do := func(ctx context.Context) error {
			seen += saw(s.AddOutgoingEvent(ctx, lid, id, "wa", value))
			seen += saw(s.MigratePNToLID(ctx, pn, lid))
			seen += saw(s.GetManySessions(ctx, []string{one, two}))
			seen += saw(s.PutManySessions(ctx, map[string][]byte{one: value, two: value}))
			return nil
		}
		var err error
		if _, ours := s.(both); ours {
			err = f.container.Sending(ctx, nil, do)
		} else {
			err = do(ctx)
		}
		return seen + saw(err)
	}
}
