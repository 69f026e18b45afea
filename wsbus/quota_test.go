package wsbus

import (
	"errors"
	"testing"
)

func TestMaxPerTokenLimitsClients(t *testing.T) {
	w := newWorld(t, Config{MaxPerToken: 2})
	first := w.dial(t, "/global?token=a")
	w.dial(t, "/instance?token=a")
	for _, path := range []string{"/global?token=a", "/instance?token=a"} {
		if err := w.refusal(t, path); !errors.Is(err, ErrTooMany) {
			t.Errorf("%s: %v", path, err)
		}
	}
	w.dial(t, "/global?token=b")
	_ = first.CloseNow()
	w.waitForClients(t, 2)
	w.dial(t, "/instance?token=a")
	if err := w.refusal(t, "/global?token=a"); !errors.Is(err, ErrTooMany) {
		t.Errorf("after one left and one came: %v", err)
	}
}

// TestAHandshakeThatIsRefusedTakesNoPlace, whatever refuses it.
func TestAHandshakeThatIsRefusedTakesNoPlace(t *testing.T) {
	w := newWorld(t, Config{MaxPerToken: 1})
	w.check = func() error { return errors.New("revoked") }
	for range 3 {
		if err := w.refusal(t, "/instance?token=a"); errors.Is(err, ErrTooMany) {
			t.Fatal(err)
		}
		if err := w.refusal(t, "/global?token=a&since=99"); !errors.Is(err, ErrAhead) {
			t.Fatal(err)
		}
	}
	w.check = nil
	w.dial(t, "/instance?token=a")
	w.waitForClients(t, 1)
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if n := len(w.hub.tokens); n != 1 {
		t.Errorf("%d tokens are remembered", n)
	}
}
