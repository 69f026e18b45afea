package instance

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
)

// inBubble runs fn on a new rig under fake time, then stops the rig.
func inBubble(t *testing.T, adapt func(*SupervisorConfig), fn func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, adapt)
		defer r.stop()
		fn(r)
	})
}

var bg = context.Background()

func TestConnectWaitsForTheFirstQRCode(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.create("a").ID
		r.net.onDial(func(_ context.Context, s *session) error {
			time.AfterFunc(time.Second, func() { s.qr("2@x") })
			return nil
		})
		got, err := r.sup.Connect(bg, id, "req-1")
		if err != nil || got.Code == nil || got.Code.Code != "2@x" || got.AlreadyConnected || got.AlreadyConnecting {
			t.Fatalf("%+v, %v", got, err)
		}
		if got.Record.Status != event.QRCodeState {
			t.Errorf("the answer says %s", got.Record.Status)
		}
		if n := r.one(); n.Kind != event.QRCodeUpdated || n.RequestID != "req-1" {
			t.Errorf("%s carries request id %q", n.Kind, n.RequestID)
		}
		synctest.Wait() // for who is published beside the answer
		if len(r.codes) != 1 || r.codes[0] != "2@x" {
			t.Errorf("OnCode got %q", r.codes)
		}
		again, err := r.sup.Connect(bg, id, "req-2")
		if err != nil || again.Code == nil || !again.AlreadyConnecting {
			t.Errorf("a second call: %+v, %v", again, err)
		}
	})
}

func TestConnectWithoutCodeReturnsErrNoCode(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.create("a").ID
		r.net.onDial(func(context.Context, *session) error { return nil })
		began := time.Now()
		if _, err := r.sup.Connect(bg, id, ""); !errors.Is(err, ErrNoCode) || time.Since(began) != 30*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestConnectWhenOnlineSaysAlreadyConnected(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		if got, err := r.sup.Connect(bg, id, ""); err != nil || got.AlreadyConnected || got.Code != nil || got.Record.Status != event.Online {
			t.Fatalf("first: %+v, %v", got, err)
		}
		got, err := r.sup.Connect(bg, id, "")
		if err != nil || !got.AlreadyConnected || got.Code != nil {
			t.Errorf("second: %+v, %v", got, err)
		}
		if n := len(r.net.session(id).dialled()); n != 1 {
			t.Errorf("dialled %d times", n)
		}
	})
}

func TestConcurrentConnectJoinsTheFirst(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		r.net.onDial(func(_ context.Context, s *session) error {
			time.AfterFunc(5*time.Second, s.login)
			return nil
		})
		go func() { _, _ = r.sup.Connect(bg, id, "") }()
		time.Sleep(time.Second)
		got, err := r.sup.Connect(bg, id, "")
		if err != nil || !got.AlreadyConnecting || got.Record.Status != event.Online {
			t.Errorf("%+v, %v", got, err)
		}
		if n := len(r.net.session(id).dialled()); n != 1 {
			t.Errorf("dialled %d times: the second call cut the first one's login off", n)
		}
	})
}

// TestConnectAfterPairErrorGetsNewCode: a receiver of the event calls before the
// report of it has returned.
func TestConnectAfterPairErrorGetsNewCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(n event.Notice) {
			if n.Kind == event.ConnectionUpdated {
				time.Sleep(time.Second)
			}
		}
		r := newRig(t, func(cfg *Config) { cfg.Publish = slow }, nil)
		defer r.stop()
		id := r.create("a").ID
		codes := []string{"2@old", "2@new"}
		r.net.onDial(func(_ context.Context, s *session) error {
			s.qr(codes[0])
			codes = codes[1:]
			return nil
		})
		if got, err := r.sup.Connect(bg, id, ""); err != nil || got.Code == nil || got.Code.Code != "2@old" {
			t.Fatal(got, err)
		}
		var report sync.WaitGroup
		report.Go(func() {
			_ = r.net.session(id).tell(connection(event.PairError, event.ConnectionClose, event.ConnectionError))
		})
		defer report.Wait()
		synctest.Wait() // the event is out
		got, err := r.sup.Connect(bg, id, "")
		if err != nil || got.Code == nil || got.Code.Code != "2@new" || got.AlreadyConnecting {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestFailedDialReportsConnectionTimeout(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.create("a").ID
		r.net.onDial(func(context.Context, *session) error { return errors.New("no route to host") })
		_, err := r.sup.Connect(bg, id, "")
		if !errors.Is(err, event.ErrNotConnected) || err.Error() != "instance is not connected: connection_timeout (no route to host)" {
			t.Errorf("error: %v", err)
		}
		r.wantStatus(id, event.ConnectionTimeout)
		if got := r.record(id).LastError; got != "no route to host" {
			t.Errorf("lastError %q", got)
		}
	})
}

func TestConnectDoesNotDisturbPairingByCode(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.create("a").ID
		if code, err := r.sup.PairCode(bg, id, "4915123456", ""); err != nil || code != "ABCD-EFGH" {
			t.Fatal(code, err)
		}
		r.wantStatus(id, event.PairingCodeState)
		began := time.Now()
		got, err := r.sup.Connect(bg, id, "")
		if err != nil || !got.AlreadyConnecting || got.Code != nil || time.Since(began) != 0 {
			t.Errorf("%+v, %v after %v", got, err, time.Since(began))
		}
		r.wantStatus(id, event.PairingCodeState)
	})
}

func TestPairCodeWhenPairedIsErrAlreadyPaired(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		if _, err := r.sup.PairCode(bg, id, "4915123456", ""); !errors.Is(err, ErrAlreadyPaired) {
			t.Error(err)
		}
	})
}

func TestPairCodeWithoutAnswerReturnsErrNoCode(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.create("a").ID
		if _, err := r.sup.PairCode(bg, id, "4915123456", ""); err != nil { // opens the session
			t.Fatal(err)
		}
		r.net.session(id).pairCode = func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(bg, time.Hour)
		defer cancel()
		if _, err := r.sup.PairCode(ctx, id, "4915123456", ""); !errors.Is(err, ErrNoCode) || time.Since(began) != 30*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestInterruptEndsOnlyWaitsForAPhone(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		online := r.linked("online", event.Disconnected).ID
		if _, err := r.sup.Connect(bg, online, ""); err != nil {
			t.Fatal(err)
		}
		coded, scanned := r.create("coded").ID, r.create("scanned").ID
		if _, err := r.sup.PairCode(bg, coded, "4915123456", ""); err != nil { // opens the session
			t.Fatal(err)
		}
		r.net.session(coded).pairCode = func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		r.net.onDial(func(context.Context, *session) error { return nil })
		connect := func(id int64) error {
			_, err := r.sup.Connect(bg, id, "")
			return err
		}
		answers := make(chan error)
		for _, call := range []func() error{
			func() error { return connect(scanned) }, // waits for a code
			func() error { // waits for the typed code
				_, err := r.sup.PairCode(bg, coded, "4915123456", "")
				return err
			},
			func() error { // waits for its turn
				time.Sleep(time.Second)
				return connect(coded)
			},
		} {
			go func() { answers <- call() }()
		}
		time.Sleep(2 * time.Second)
		began := time.Now()
		r.sup.Interrupt()
		for range 3 {
			if err := <-answers; !errors.Is(err, errStopping) || !errors.Is(err, event.ErrNotConnected) || time.Since(began) != 0 {
				t.Errorf("a waiter got %v after %v", err, time.Since(began))
			}
		}
		late := r.create("late").ID
		for range 20 { // a free turn and the end of the wait compete
			if err := connect(late); !errors.Is(err, errStopping) {
				t.Errorf("a later call got %v", err)
			}
		}
		synctest.Wait()
		if n := len(r.net.session(late).dialled()); n != 0 {
			t.Errorf("a later call dialled %d times", n)
		}
		if _, err := r.sup.Send(bg, online, event.Outgoing{ID: "K", To: annPhone}); err != nil {
			t.Errorf("a send: %v", err)
		}
		r.wantStatus(online, event.Online)
	})
}

func TestRestartDropsAndReopensTheSocket(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		r.published()
		if err := r.sup.Restart(bg, id, "req-3"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		s := r.net.session(id)
		if s.drops != 1 || len(s.dialled()) != 2 {
			t.Errorf("%d drops, %d dials", s.drops, len(s.dialled()))
		}
		r.wantStatus(id, event.Online)
		if n := r.one(); n.RequestID != "req-3" {
			t.Errorf("connected carries request id %q", n.RequestID)
		}
	})
}

func TestRestartInterruptsBackoffAndDial(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		r.net.onDial(func(ctx context.Context, _ *session) error { // 30 s per dial, 2 s and more between
			<-ctx.Done()
			return ctx.Err()
		})
		r.sup.Start()
		for _, at := range []time.Duration{5 * time.Second, 31 * time.Second} {
			time.Sleep(at)
			began := time.Now()
			if err := r.sup.Restart(bg, id, ""); err != nil || time.Since(began) != 0 {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
			synctest.Wait()
			r.wantStatus(id, event.Connecting)
		}
	})
}

func TestRestartWhenNeverPairedIsNotConnected(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		if err := r.sup.Restart(bg, r.create("a").ID, ""); !errors.Is(err, event.ErrNotConnected) {
			t.Error(err)
		}
	})
}

func TestARestartGoesOnWhenItsCallerLeaves(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(bg)
		cancel()
		_ = r.sup.Restart(ctx, id, "")
		time.Sleep(time.Second)
		r.wantStatus(id, event.Online)
	})
}

func TestCallsOfUnknownInstanceReturnErrNotFound(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		_, connect := r.sup.Connect(bg, 7, "")
		_, code := r.sup.PairCode(bg, 7, "4915123456", "")
		_, logout := r.sup.Logout(bg, 7, "")
		_, status := r.sup.Status(7)
		_, send := r.sup.Send(bg, 7, event.Outgoing{})
		for name, err := range map[string]error{"connect": connect, "code": code, "logout": logout, "status": status, "send": send, "restart": r.sup.Restart(bg, 7, "")} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
