package crash

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/e2e/powerloss"
	"postern/internal/nightly"
)

// TestFailingDiskCostsNoMessageAndNoFile fails each system call that keeps a file or removes
// one. The webhook comes, the file is served from WhatsApp, and is kept once the disk works.
func TestFailingDiskCostsNoMessageAndNoFile(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the recorder cannot make a call fail here")
	}
	t.Parallel()
	k := newTraced(t)
	n := 0
	for _, c := range []call{{"mkdir", "1"}, {"open", "1/.postern*"}, {"rename", "1/.postern"}, {"open", "1/.new-*"}, {"write", "1/.new-*"}, {"sync", "1/.new-*"}, {"rename", "1/[1-9]*"}, {"sync", "1"}} {
		for _, errno := range nightly.Or([]syscall.Errno{syscall.EIO, syscall.ENOSPC}, []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EROFS, syscall.EACCES}) {
			t.Run(fmt.Sprintf("%s of %s: %v", c.name, c.pattern, errno), func(t *testing.T) {
				key := fmt.Sprint("FAULT", n)
				n++
				k.failing(t, key, c, errno)
			})
		}
	}
	for _, errno := range []syscall.Errno{syscall.EIO, syscall.EROFS} {
		t.Run(fmt.Sprintf("removal: %v", errno), func(t *testing.T) { k.failingRemoval(t, fmt.Sprint("REMOVAL", int(errno)), errno) })
	}
	k.Stop()
}

// fail makes a call fail from now on, and reports whether it did.
func (k *traced) fail(c call, errno syscall.Errno) (failed func() bool) {
	hit := false
	k.on(func(is powerloss.Call) (fault powerloss.Fault) {
		if k.step(is, c.name, c.pattern) {
			hit, fault.Err = true, errno
		}
		return fault
	})
	return func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return hit
	}
}

func (k *traced) failing(t *testing.T, key string, c call, errno syscall.Errno) {
	t.Helper()
	if c.name == "mkdir" || strings.HasPrefix(c.pattern, "1/.postern") {
		k.fresh(t)
	}
	content := contentOf(key)
	failed := k.fail(c, errno)
	k.receive(t, key, content)
	if errno == syscall.ENOSPC {
		k.await(key, "SKIPPED", "DISK_FULL")
	} else {
		k.await(key, "PENDING", "UNREACHABLE")
	}
	if !failed() {
		t.Fatal("no such call")
	}
	id := k.record(key).MessageID
	get := func() bool {
		a := k.Request(t, http.MethodGet, fmt.Sprintf("/instance/shop/messages/%d/media", id), "", nil)
		return a.Status == http.StatusOK && bytes.Equal(a.Body, content)
	}
	if !get() {
		t.Error("the file is not served")
	}
	if files := filesIn(t, k.kept); errno == syscall.ENOSPC && files[fmt.Sprintf("1/%d", id)] != "" {
		k.Await("no file of a skipped one", func() bool { return filesIn(t, k.kept)[fmt.Sprintf("1/%d", id)] == "" })
	}
	k.on(nil)
	if errno != syscall.ENOSPC {
		k.Await("it is kept", func() bool { return get() && k.record(key).State == "STORED" })
	}
	k.AwaitFor(time.Minute, "files and records agree", func() bool { return k.agree(t) })
	if n := k.reported(key); n != 1 {
		t.Errorf("%d webhooks", n)
	}
}

func (k *traced) failingRemoval(t *testing.T, key string, errno syscall.Errno) {
	t.Helper()
	k.receive(t, key, contentOf(key))
	r := k.await(key, "STORED", "")
	failed := k.fail(call{"unlink", "1/[1-9]*"}, errno)
	path := fmt.Sprintf("/instance/shop/messages/%d/media", r.MessageID)
	if a := k.Request(t, http.MethodDelete, path, "", nil); a.Status != http.StatusNoContent || !failed() {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	k.await(key, "REMOVED", "DELETED")
	k.on(nil)
	k.Await("no file", func() bool { return k.agree(t) })
}
