package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"postern/cli/consumer"
)

// listenPlan determines the answers of `postern listen`.
type listenPlan struct {
	status    int
	fail      int // so many are refused first
	slow      time.Duration
	secrets   []consumer.Secret // none: signatures are not looked at
	tolerance time.Duration
}

func (p listenPlan) validate() error {
	switch {
	case p.status < 200 || p.status > 599:
		return errors.New("--status must be from 200 to 599")
	case p.fail < 0:
		return errors.New("--fail must be 0 or more")
	case p.slow < 0 || p.slow > time.Hour:
		return errors.New("--slow must be from 0s to 1h")
	case p.tolerance < time.Second || p.tolerance > 24*time.Hour:
		return errors.New("--tolerance must be from 1s to 24h")
	}
	return nil
}

func (p listenPlan) String() string {
	text := fmt.Sprint(p.status)
	if p.fail > 0 {
		text = fmt.Sprintf("503 to the first %d, then %s", p.fail, text)
	}
	if p.slow > 0 {
		text += fmt.Sprintf(", after %v", p.slow)
	}
	if len(p.secrets) > 0 {
		text += ", 401 to wrong signatures"
	}
	return text
}

// rememberedIDs is how many event ids a listener keeps to recognise repeats.
const rememberedIDs = 10_000

// listener answers webhooks by its plan, prints and counts them.
type listener struct {
	plan listenPlan

	mu    sync.Mutex
	out   io.Writer
	tally tally
	// seen counts by webhook-id, order has the ids by age.
	seen  map[string]int
	order []string
}

// tally counts how webhooks were answered.
type tally struct{ received, accepted, refused, wrong, left, again int }

// answer chooses the answer to one webhook and prints it.
func (l *listener) answer(ctx context.Context, w consumer.Webhook) (status int, text string) {
	waited := l.plan.wait(ctx)
	var signature error
	if len(l.plan.secrets) > 0 {
		signature = consumer.Verify(w, l.plan.tolerance, l.plan.secrets...)
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	var notes []string
	l.tally.received++
	switch {
	case !waited:
		l.tally.left++
		status = http.StatusGatewayTimeout // not read: the sender has gone
		notes = append(notes, fmt.Sprintf("no answer: the sender waited no longer than %v", time.Since(w.At).Round(time.Millisecond)))
	case signature != nil:
		l.tally.wrong++
		status, text = http.StatusUnauthorized, "postern listen: "+signature.Error()
		notes = append(notes, fmt.Sprintf("%d, %v", status, signature))
	case l.tally.refused < l.plan.fail:
		l.tally.refused++
		status = http.StatusServiceUnavailable
		text = fmt.Sprintf("postern listen: refused %d of %d", l.tally.refused, l.plan.fail)
		notes = append(notes, fmt.Sprintf("%d, refused %d of %d", status, l.tally.refused, l.plan.fail))
	default:
		l.tally.accepted++
		status = l.plan.status
	}
	if signature == nil && len(l.plan.secrets) > 0 {
		notes = append(notes, "signature right")
	}
	if n := l.times(w.ID); n > 1 {
		l.tally.again++
		notes = append(notes, fmt.Sprintf("time %d of this webhook-id", n))
	}
	line := webhookLine(w)
	if len(notes) > 0 {
		line += "  -> " + strings.Join(notes, ", ")
	}
	fmt.Fprintln(l.out, line)
	return status, text
}

// wait waits as planned, and reports whether the sender waited as well.
func (p listenPlan) wait(ctx context.Context) bool {
	if p.slow == 0 {
		return true
	}
	t := time.NewTimer(p.slow)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// times counts an event, and returns how often it came.
func (l *listener) times(id string) int {
	const longest = 256
	if id == "" || len(id) > longest {
		return 0
	}
	if l.seen == nil {
		l.seen = map[string]int{}
	}
	if l.seen[id]++; l.seen[id] == 1 {
		l.order = append(l.order, id)
	}
	if len(l.order) > rememberedIDs {
		delete(l.seen, l.order[0])
		l.order = l.order[1:]
	}
	return l.seen[id]
}

// sum prints a summary.
func (l *listener) sum() {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tally
	fmt.Fprintf(l.out, "received %d: %d answered %d", t.received, t.accepted, l.plan.status)
	for _, part := range []struct {
		n    int
		text string
	}{
		{t.refused, "refused with 503"},
		{t.wrong, "with a wrong signature"},
		{t.left, "timed out at the sender"},
		{t.again, "repeated"},
	} {
		if part.n > 0 {
			fmt.Fprintf(l.out, ", %d %s", part.n, part.text)
		}
	}
	fmt.Fprintln(l.out)
}
