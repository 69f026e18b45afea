package browser

import (
	"context"
	"errors"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// patience is the time limit of a command, for a machine under load.
const patience = 3 * time.Minute

// Browser is a running Chromium. Its methods may be called from any goroutine; they end
// the test if the browser fails.
type Browser struct {
	t   *testing.T
	ctx context.Context // chromedp keeps its state in it
}

// flags of every start. The last two give pages a microphone; the three before them have a
// page draw frames when the browser takes it for hidden, where a test would wait for them
// without end.
var flags = []string{
	"headless", "no-sandbox", "disable-gpu", "no-first-run", "disable-dev-shm-usage",
	"disable-backgrounding-occluded-windows", "disable-renderer-backgrounding", "disable-background-timer-throttling",
	"use-fake-device-for-media-stream", "use-fake-ui-for-media-stream",
}

// Open starts a browser that ends with the test. It skips the test if there is none.
func Open(t *testing.T) *Browser {
	t.Helper()
	ctx, stop, err := start(Find(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return &Browser{t, ctx}
}

func start(path string) (ctx context.Context, stop func(), err error) {
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path)}
	for _, flag := range flags {
		options = append(options, chromedp.Flag(flag, true))
	}
	// A page that is left is not kept, so that the next one needs no process of its own: a third less work.
	options = append(options, chromedp.Flag("disable-features", "BackForwardCache,ProactivelySwapBrowsingInstance"))
	allocator, release := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	stop = func() { cancel(); release() }
	late := time.AfterFunc(patience, cancel) // a timeout of ctx would end the browser later
	if err = chromedp.Do(ctx); !late.Stop() {
		err = errors.Join(err, errors.New("the browser did not start in time"))
	}
	if err != nil {
		stop()
	}
	return ctx, stop, err
}

// found returns the path of a browser that starts, empty for none.
var found = sync.OnceValue(func() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if _, stop, err := start(path); err == nil {
			stop()
			return path
		}
	}
	return ""
})

// Find returns the path of a browser that starts, and skips the test if there is none.
func Find(t *testing.T) string {
	t.Helper()
	path := found()
	if path == "" {
		t.Skip("needs a chromium that runs")
	}
	return path
}
