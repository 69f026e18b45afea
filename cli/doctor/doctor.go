package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"postern/config"
	"postern/instance"
	"postern/instance/webhooks"
	"postern/store"
	"postern/store/schema"
)

// Level is the severity of a finding.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Warning Level = "warning" // it works, and an operator should look at it
	Fault   Level = "fault"   // something does not work, or will not for long
)

// Finding is the result of a check.
type Finding struct {
	Check   string `json:"check"`
	Level   Level  `json:"level"`
	Message string `json:"message"` // one line
	Advice  string `json:"advice"`  // what to do; empty at level OK
}

// Patient is the subject of the checks.
type Patient struct {
	Config   *config.Config
	Warnings []string // that reading the configuration gave

	Buckets []schema.Bucket // those of the data file, as for store.Check

	// Ask calls the API of the program that runs with this configuration, and decodes
	// its answer; a *[]byte gets the raw answer. It is called when a program
	// has the data file open.
	Ask func(ctx context.Context, method, path string, out any) error
}

// networkTimeout limits each network check, and each list that
// ffmpeg is asked for.
const networkTimeout = 5 * time.Second

// Unconfigured returns the findings for an unusable configuration.
func Unconfigured(err error) []Finding {
	return []Finding{{"configuration", Fault, oneLine(err.Error()), "fix it and verify it with postern config check FILE; all other checks need it"}}
}

// Run runs all checks, and returns the findings in their order. The
// error is the cause of ctx's end.
func Run(ctx context.Context, p Patient) ([]Finding, error) {
	r := p.examine(ctx)
	late := []func(context.Context) []Finding{ // over the network, or slow
		r.program, r.clock, r.database, r.mediaStore, r.whatsapp, r.proxies, r.global, r.instances, r.ffmpeg, r.openFiles,
	}
	found := make([][]Finding, len(late))
	done := make(chan int)
	for i, look := range late {
		go func() {
			found[i] = look(ctx)
			select {
			case done <- i:
			case <-ctx.Done():
			}
		}()
	}
	// The disk is checked sequentially: concurrent checks would disturb the measurements.
	disk := slices.Concat(r.configuration(), r.secrets(), r.accounts(), r.folder(), r.fileSystem(), r.syncs(ctx), r.space())
	var file []Finding
	whole := make(chan []Finding, 1)
	go func() { whole <- r.file(ctx) }()
	for left := len(late) + 1; left > 0; left-- {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case file = <-whole:
		case <-done:
		}
	}
	all := disk
	for _, f := range found {
		all = append(all, f...)
	}
	return slices.Concat(all, file, r.backup(ctx), r.left()), ctx.Err()
}

// examination is a patient with the shared state of the checks.
type examination struct {
	Patient

	running   bool                // a program has the data file open
	none      bool                // there is no data file
	closed    error               // why the data file could not be opened
	receivers []instance.Receiver // of all instances
	unknown   error               // why the receivers are not known
}

func (p Patient) examine(ctx context.Context) *examination {
	r := &examination{Patient: p}
	r.receivers, r.unknown = instance.Receivers(p.Config.Store.Path, p.Buckets)
	switch {
	case errors.Is(r.unknown, store.ErrLocked):
		r.running = true
		r.receivers, r.unknown = r.askReceivers(ctx)
	case isMissing(r.unknown):
		r.none, r.unknown = true, nil
	default:
		r.closed = r.unknown
	}
	return r
}

// askReceivers asks the running program for them.
func (r *examination) askReceivers(ctx context.Context) (all []instance.Receiver, err error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	var listed []struct {
		Name    string
		Webhook *webhooks.Webhook
	}
	if err := r.Ask(ctx, "GET", "/instance", &listed); err != nil {
		return nil, err
	}
	for _, in := range listed {
		to := instance.Receiver{Instance: in.Name}
		if in.Webhook != nil && in.Webhook.Enabled {
			to.URL = in.Webhook.URL
		}
		all = append(all, to)
	}
	return all, nil
}

// limited returns a context with the network timeout.
func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, networkTimeout, fmt.Errorf("no answer within %v", networkTimeout))
}

func one(check string, level Level, advice, format string, args ...any) []Finding {
	return []Finding{{check, level, oneLine(fmt.Sprintf(format, args...)), advice}}
}
