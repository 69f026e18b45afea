package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// A start that reads or copies a large data file may take longer than TimeoutStartSec. Every
// extendEvery it tells systemd to wait for at least extendBy more.
const (
	extendEvery = 5 * time.Second
	extendBy    = time.Minute
)

// starting has systemd wait for the start until done is called or ctx ends. A failure to
// notify it is logged when the program is ready.
func starting(ctx context.Context) (done func()) {
	ctx, end := context.WithCancel(ctx)
	extend := func() (sent bool) {
		sent, _ = daemon.SdNotify(false, fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", extendBy.Microseconds()))
		return sent
	}
	var extending sync.WaitGroup
	if extend() {
		extending.Go(func() {
			tick := time.NewTicker(extendEvery)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					extend()
				}
			}
		})
	}
	return func() {
		end()
		extending.Wait()
	}
}

// supervised notifies systemd, if it started the program as a service of the type
// notify, of readiness, then of the watchdog until ctx ends, and then
// of the stop. Elsewhere it does nothing. stuck returns why only a restart may help.
func supervised(ctx context.Context, stuck func(context.Context) []string, log *slog.Logger) {
	if !notifySystemd(log, daemon.SdNotifyReady) {
		return
	}
	context.AfterFunc(ctx, func() { notifySystemd(log, daemon.SdNotifyStopping) })
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("systemd's watchdog is not served; correct WatchdogSec= of the service", "error", err)
	}
	if err != nil || every == 0 {
		return
	}
	go func() {
		tick := time.NewTicker(every / 4) // one slow commit is no reason to be killed
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			reasons := stuck(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case len(reasons) > 0:
				log.Error("not notifying systemd's watchdog: the program is stuck, and systemd will restart it; /ready has the reasons", "reasons", strings.Join(reasons, "; "))
			default:
				notifySystemd(log, daemon.SdNotifyWatchdog)
			}
		}
	}()
}

// reloading notifies systemd of a reload, which lasts until the program is reported
// ready.
func reloading(log *slog.Logger) {
	notifySystemd(log, daemon.SdNotifyReloading+"\n"+daemon.SdNotifyMonotonicUsec())
}

// notifySystemd reports whether systemd received the state.
func notifySystemd(log *slog.Logger, state string) bool {
	sent, err := daemon.SdNotify(false, state)
	if err != nil {
		log.Warn("cannot notify systemd; check that the unit has NotifyAccess=main", "state", state, "error", err)
	}
	return sent
}
