package crash

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/powerloss"
	"postern/e2e/rig"
)

// call is the name of a system call and a pattern of its file, see traced.step.
type call struct{ name, pattern string }

// TestKillAtEachStepOfKeptFile kills the program before each system call that keeps a file,
// or removes one on request, with its message's person or with its instance. After the next
// start each record that says STORED has its whole file, no file is without a record, and
// no webhook was late or came twice.
func TestKillAtEachStepOfKeptFile(t *testing.T) {
	t.Parallel()
	k := newTraced(t)
	keeping := []struct {
		name  string
		calls []call // the last one is not done
	}{
		{"before the folder of the instance", []call{{"mkdir", "1"}}},
		{"before the mark of that folder", []call{{"open", "1/.postern*"}}},
		{"before the name of the mark", []call{{"rename", "1/.postern"}}},
		{"before the sync of the mark's name", []call{{"rename", "1/.postern"}, {"sync", "1"}}},
		{"before the file", []call{{"open", "1/.new-*"}}},
		{"before its bytes", []call{{"write", "1/.new-*"}}},
		{"before its sync", []call{{"sync", "1/.new-*"}}},
		{"before its name", []call{{"rename", "1/[1-9]*"}}},
		{"before the sync of the folder", []call{{"rename", "1/[1-9]*"}, {"sync", "1"}}},
		{"before the commit", []call{{"rename", "1/[1-9]*"}, {"sync", "1"}, {"write", "data"}}},
		{"within the commit", []call{{"rename", "1/[1-9]*"}, {"sync", "1"}, {"write", "data"}, {"sync", "data"}}},
		{"before the second sync of the commit", []call{{"rename", "1/[1-9]*"}, {"sync", "1"}, {"sync", "data"}, {"write", "data"}, {"sync", "data"}}},
	}
	for i, c := range keeping {
		t.Run(c.name, func(t *testing.T) {
			key := fmt.Sprintf("PUT%d", i)
			if first := c.calls[0]; first.name == "mkdir" || strings.HasPrefix(first.pattern, "1/.postern") {
				k.fresh(t)
			}
			var heard atomic.Bool // nothing is kept before the webhook was delivered
			k.killAt(c.calls, &heard)
			k.receive(t, key, contentOf(key))
			heard.Store(true)
			k.awaitEnd(t)
			k.recover(t)
			if r := k.record(key); r.State != "STORED" {
				t.Errorf("%+v", r)
			}
			if n := k.reported(key); n != 1 {
				t.Errorf("%d webhooks", n)
			}
		})
	}
	t.Run("after the commit", func(t *testing.T) {
		k.receive(t, "COMMITTED", contentOf("COMMITTED"))
		k.await("COMMITTED", "STORED", "")
		k.Kill()
		k.recover(t)
	})
	for _, c := range []struct {
		name  string
		calls []call
		state string // empty: the request or its end may come first
	}{
		{"before the commit of a removal", []call{{"write", "data"}}, ""},
		{"before the removal of the file", []call{{"unlink", "1/[1-9]*"}}, "REMOVED"},
		{"after the removal of the file", []call{{"unlink", "1/[1-9]*"}, {"write", "data"}}, "REMOVED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			key := "REMOVED " + c.name
			k.receive(t, key, contentOf(key))
			r := k.await(key, "STORED", "")
			k.killAt(c.calls, nil)
			go k.try(t, http.MethodDelete, fmt.Sprintf("/instance/shop/messages/%d/media", r.MessageID))
			k.awaitEnd(t)
			k.recover(t)
			if got := k.record(key).State; c.state != "" && got != c.state {
				t.Errorf("%s, want %s", got, c.state)
			}
		})
	}
	k.killErasures(t)
	k.killDeletion(t)
}

func contentOf(key string) []byte { return bytes.Repeat([]byte(key+" "), 3000) }

// killAt kills the program before the last one of calls, which come in this order. Calls in
// the folder of kept files wait until heard.
func (k *traced) killAt(calls []call, heard *atomic.Bool) {
	next := 0
	k.on(func(c powerloss.Call) (fault powerloss.Fault) {
		switch {
		case heard != nil && !heard.Load() && k.inKept(c):
			fault.Hold = heard.Load
		case heard != nil && !heard.Load() || !k.step(c, calls[next].name, calls[next].pattern):
		case next == len(calls)-1:
			fault.Kill = true
		default:
			next++
		}
		return fault
	})
}

// try makes a request whose answer the end of the program may cut off.
func (k *traced) try(t *testing.T, method, path string) {
	_ = k.API.Call(t.Context(), consumer.Bearer(k.Token), method, path, nil, nil)
}

// awaitEnd waits for the kill.
func (k *traced) awaitEnd(t *testing.T) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		_ = k.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		k.Kill()
		t.Fatalf("the program did not come to the step; it said:\n%s", k.Output)
	}
}

// killErasures removes what is stored about a person, whose files are kept.
func (k *traced) killErasures(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls []call
	}{
		{"an erasure before the removal of a file", []call{{"unlink", "1/[1-9]*"}}},
		{"an erasure between two removals", []call{{"unlink", "1/[1-9]*"}, {"unlink", "1/[1-9]*"}}},
		{"an erasure after the removal of a file", []call{{"unlink", "1/[1-9]*"}, {"write", "data"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range 2 {
				key := fmt.Sprint(c.name, i)
				k.receive(t, key, contentOf(key))
				k.await(key, "STORED", "")
			}
			k.killAt(c.calls, nil)
			go k.try(t, http.MethodDelete, "/instance/shop/people/"+rig.AnneNumber+"@s.whatsapp.net")
			k.awaitEnd(t)
			k.recover(t)
			k.AwaitFor(time.Minute, "nothing of the person", func() bool { return len(k.records()) == 0 && len(filesIn(t, k.kept)) == 0 })
		})
	}
}

// killDeletion deletes the instance; it is the last.
func (k *traced) killDeletion(t *testing.T) {
	t.Run("a deletion of the instance", func(t *testing.T) {
		for i := range 3 {
			key := fmt.Sprint("DELETED", i)
			k.receive(t, key, contentOf(key))
			k.await(key, "STORED", "")
		}
		k.killAt([]call{{"unlink", "1/[1-9]*"}, {"unlink", "1/[1-9]*"}}, nil)
		go k.try(t, http.MethodDelete, "/instance/shop?force=true")
		k.awaitEnd(t)
		for _, last := range []call{{"unlink", "1/.postern"}, {"unlink", "1"}} {
			k.killAt([]call{last}, nil)
			k.Launch(rig.FreeAddress(t))
			k.awaitEnd(t)
		}
		k.on(nil)
		k.Start()
		k.AwaitFor(time.Minute, "no folder of the instance", func() bool {
			_, err := os.Lstat(filepath.Join(k.kept, "1"))
			return errors.Is(err, fs.ErrNotExist)
		})
	})
}
