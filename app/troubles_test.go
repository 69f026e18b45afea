package app

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/console/trouble"
	"postern/store"
)

// TestHangingDiskIsATrouble until the data file takes changes again.
func TestHangingDiskIsATrouble(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := newSockets(t)
	begun, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(release)
	go func() {
		defer close(done)
		_ = s.store.Update(context.Background(), func(*store.Tx) error {
			close(begun)
			<-goOn
			return nil
		})
	}()
	<-begun
	is := &state{a: s.App}
	hangs := func() bool {
		for _, c := range is.program() {
			if c.Kind == trouble.NotReady && strings.Contains(c.Text, "its disk may hang") {
				return true
			}
		}
		return false
	}
	began := time.Now()
	if hangs(); time.Since(began) > time.Second {
		t.Errorf("the look took %s", time.Since(began))
	}
	comes(t, "a hanging disk is a trouble", hangs)
	release()
	<-done
	is.probed = time.Time{}
	comes(t, "the end of the trouble", func() bool { return !hangs() })
}
