package doctor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"postern/cluster"
	"postern/internal/peers"
	"postern/internal/plural"
	"postern/media"
	"postern/store"
)

// program reports whether one runs and is ready.
func (r *examination) program(ctx context.Context) (all []Finding) {
	const check = "program"
	if errors.Is(r.closed, store.ErrNoAccess) {
		return one(check, Warning, asItsUser, "unknown whether one runs on %s, which cannot be read", r.Config.Store.Path)
	}
	if !r.running {
		return one(check, OK, "", "none runs on %s", r.Config.Store.Path)
	}
	if r.unknown != nil {
		return one(check, Fault, "see its log; run this command with the configuration of the program; restart the program when it hangs", "one has %s open and did not answer: %v", r.Config.Store.Path, r.unknown)
	}
	ctx, cancel := limited(ctx)
	defer cancel()
	if waits, found := r.standsBy(ctx); waits {
		return found
	}
	var is struct{ Reasons, Warnings []string }
	if err := r.Ask(ctx, "GET", "/ready", &is); err != nil {
		return one(check, Fault, "see its log and fix the causes below", "it is not ready: %v", err)
	}
	for _, w := range is.Warnings {
		all = append(all, one(check, Warning, "see its log, and docs/operation.md", "%s", w)...)
	}
	if len(all) == 0 {
		return one(check, OK, "", "it runs and is ready, with %s", plural.Of(len(r.receivers), "instance"))
	}
	return all
}

// isStandby reports whether the running program does not own its cell.
func (r *examination) isStandby(ctx context.Context) bool {
	var health struct{ Role cluster.Role }
	return r.running && r.Config.Store.URL != "" && r.Ask(ctx, "GET", "/health", &health) == nil && health.Role == cluster.Standby
}

// standsBy examines a program that does not own its cell.
func (r *examination) standsBy(ctx context.Context) (waits bool, found []Finding) {
	const check = "program"
	if !r.isStandby(ctx) {
		return false, nil
	}
	var is cluster.CellStatus
	switch err := r.Ask(ctx, "GET", "/admin/cluster", &is); {
	case err != nil:
		return true, one(check, Warning, "see its log, and the line of the database", "it does not own the cell: %v", err)
	case is.Reason != "":
		return true, one(check, Fault, "see the line of the database", "it waits: %s", is.Reason)
	case is.Owner == nil:
		return true, one(check, Fault, "see postern status, and the log of each node", "it is a standby, and no node owns the cell")
	case is.Role != cluster.Standby:
		return true, one(check, Warning, "wait until it has loaded its copy", "it is %s; %s owns the cell", is.Role, is.Owner.Node)
	}
	return true, one(check, OK, "", "it runs as a standby of %s", is.Owner.Node)
}

func (r *examination) ffmpeg(ctx context.Context) []Finding {
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		return one("ffmpeg", Warning, "install it to convert audio to voice notes, videos and GIFs to MP4 and pictures to stickers, and for thumbnails of videos", "not found in the PATH of this command")
	}
	ctx, cancel := limited(ctx)
	defer cancel()
	missing, err := media.Lacks(ctx, path)
	switch {
	case err != nil:
		return one("ffmpeg", Warning, "install another one", "%v", err)
	case len(missing) > 0:
		return one("ffmpeg", Warning, "install a build with them, such as Debian's; files that need them are refused", "%s lacks %s", path, few(missing))
	}
	return one("ffmpeg", OK, "", "%s has everything needed", path)
}

// minFiles is the number of files for a program with one instance: half of them are for
// clients, and an instance has one or two.
const minFiles = 1024

func (r *examination) openFiles(ctx context.Context) []Finding {
	const check = "open files"
	limit, used, whose := float64(peers.Descriptors()), -1.0, "this shell"
	if r.running && r.unknown == nil {
		ctx, cancel := limited(ctx)
		defer cancel()
		var text []byte
		if err := r.Ask(ctx, "GET", "/metrics", &text); err == nil {
			if most, found := metric(text, "process_max_fds"); found {
				limit, whose = most, "the program"
				used, _ = metric(text, "process_open_fds")
			}
		}
	}
	needs := float64(peers.Enough(len(r.receivers)))
	text := fmt.Sprintf("%s may have %.0f", whose, limit)
	if used >= 0 {
		text += fmt.Sprintf(" and has %.0f", used)
	}
	switch advice := "raise the limit: LimitNOFILE= of the service, ulimit -n, or --ulimit nofile of the container"; {
	case used >= 0 && used > limit*9/10, limit < needs:
		return one(check, Fault, advice, "%s; %s %.0f", text, plural.Of(len(r.receivers), "instance needs", "instances need"), needs)
	case limit < minFiles:
		return one(check, Warning, advice, "%s", text)
	}
	return one(check, OK, "", "%s", text)
}

// metric returns the value of a metric without labels.
func metric(text []byte, name string) (value float64, found bool) {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if figure, found := strings.CutPrefix(lines.Text(), name+" "); found {
			value, err := strconv.ParseFloat(figure, 64)
			return value, err == nil
		}
	}
	return 0, false
}

// file checks every page and record, which takes a second for some hundred MiB.
func (r *examination) file(ctx context.Context) []Finding {
	const check, advice = "data file", "see docs/crash.md for damaged data files"
	if r.none {
		return one(check, OK, "", "none yet; the first start creates it")
	}
	var (
		report store.Report
		err    error
	)
	if r.running {
		err = r.Ask(ctx, "POST", "/admin/check", &report)
	} else {
		report, err = store.Check(ctx, r.Config.Store.Path, r.Buckets)
	}
	switch {
	case err != nil && r.running:
		return one(check, Warning, "fix that, or stop the program, and run postern check", "not looked at: %v", err)
	case errors.Is(err, store.ErrNoAccess):
		return one(check, Fault, asItsUser, "%s cannot be read", r.Config.Store.Path)
	case err != nil:
		return one(check, Fault, advice, "%v", err)
	case len(report.Faults) > 0:
		return one(check, Fault, "run postern check for all of them; "+advice, "%s, the first: %s", plural.Of(len(report.Faults), "fault"), report.Faults[0])
	}
	return one(check, OK, "", "%s in %s, no fault", plural.Of(report.Records, "record"), plural.Of(report.Buckets, "bucket"))
}
