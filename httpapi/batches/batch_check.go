package batches

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"postern/batch"
	"postern/event"
	"postern/httpapi/rest"
)

// How many numbers a dry run asks for, in all and at once, and the time between two steps of an instance.
const (
	checkMost  = 500
	checkStep  = 50
	checkPause = time.Second
)

// DryRun is what a batch would be, as far as that can be known without sending.
type DryRun struct {
	Counts        event.BatchCounts     `json:"counts" doc:"The number of items in each state."`
	Duplicates    int                   `json:"duplicates" doc:"How many recipients came again." example:"0" rules:"minimum=0"`
	Malformed     []batch.Malformed     `json:"malformed" doc:"The recipients that a creation refuses."`
	Examples      []batch.Example       `json:"examples" doc:"What the first recipient gets, the one with the longest text, and up to three at random."`
	NotOnWhatsApp []string              `json:"notOnWhatsApp" doc:"The numbers without an account, of those that were asked for." example:"$phone"`
	Checked       int                   `json:"checked" doc:"How many numbers were asked for: the first 500, or fewer when no instance is online." example:"500" rules:"minimum=0"`
	EstimatedMs   int64                 `json:"estimatedMs" doc:"How long it takes at least, by its delay and the limits of its instances, in milliseconds." example:"60000" rules:"minimum=0"`
	Instances     []event.BatchInstance `json:"instances" doc:"The instances that send."`
}

// dryRun answers a creation that is only checked.
func (a *API) dryRun(c *rest.Call, create batch.CreateRequest) error {
	t, err := a.Engine.Try(c.Request.Context(), c.User, create, checkMost)
	if err != nil {
		return err
	}
	return a.answerTrial(c, t, t.Counts)
}

func (a *API) checkBatch(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	id, err := c.UUID("id", batch.ErrNotFound)
	if err != nil {
		return err
	}
	create, created, err := a.Engine.Draft(c.User, id)
	if err != nil {
		return err
	}
	if err := mayBatch(c, create.List); err != nil {
		return err
	}
	t, err := a.Engine.Try(c.Request.Context(), c.User, create, checkMost)
	if err != nil {
		return err
	}
	return a.answerTrial(c, t, created.Counts)
}

func (a *API) answerTrial(c *rest.Call, t batch.Trial, counts event.BatchCounts) error {
	out := DryRun{
		Counts: counts, Duplicates: *counts.DuplicatesIgnored, Malformed: t.Malformed, Examples: t.Examples, NotOnWhatsApp: []string{}, Instances: t.Instances,
	}
	takes := t.Pauses
	for _, i := range t.Instances { // which share the items
		takes = max(takes, a.Supervisor.Limits(i.ID).Takes((counts.Total+len(t.Instances)-1)/len(t.Instances)))
	}
	out.EstimatedMs = takes.Milliseconds()
	found, err := a.lookUp(c.Request.Context(), t.Instances, t.Numbers)
	if err != nil {
		return err
	}
	out.Checked = len(found)
	for _, r := range found {
		if !r.Exists {
			out.NotOnWhatsApp = append(out.NotOnWhatsApp, r.Number)
		}
	}
	return c.Response.JSON(http.StatusOK, out)
}

// lookUp asks WhatsApp for numbers by all instances that can, each of which asks for one step a second. It
// returns the answers in the order of the numbers; those that no instance could ask for are missing.
func (a *API) lookUp(ctx context.Context, instances []event.BatchInstance, numbers []string) ([]event.Registration, error) {
	steps := slices.Collect(slices.Chunk(numbers, checkStep))
	answers := make([][]event.Registration, len(steps))
	left := make([]int, len(steps)) // steps without an answer
	for i := range left {
		left[i] = i
	}
	var able []int64
	for _, i := range instances {
		able = append(able, i.ID)
	}
	for len(left) > 0 && len(able) > 0 {
		var round sync.WaitGroup
		failed := make([]bool, len(able))
		for n := range min(len(able), len(left)) {
			round.Go(func() {
				found, err := a.lookUpStep(ctx, able[n], steps[left[n]])
				if failed[n] = err != nil; err == nil {
					answers[left[n]] = found
				}
			})
		}
		round.Wait()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		left = slices.DeleteFunc(left, func(step int) bool { return answers[step] != nil })
		n := -1
		able = slices.DeleteFunc(able, func(int64) bool { n++; return failed[n] })
	}
	return slices.Concat(answers...), nil
}

// lookUpStep asks for the numbers of one step, in the turn of an instance.
func (a *API) lookUpStep(ctx context.Context, instance int64, numbers []string) ([]event.Registration, error) {
	account, err := a.Supervisor.Account(ctx, instance)
	if err != nil {
		return nil, err
	}
	if !pause(ctx, a.turns.next(instance, time.Now())) {
		return nil, context.Cause(ctx)
	}
	return account.Registered(ctx, numbers)
}

// turns are the turns of the look-ups of each instance, whatever dry runs they are for. The zero value is
// ready.
type turns struct {
	mu   sync.Mutex
	free map[int64]time.Time // when the next one may begin
}

// next takes a turn, and returns how long it is until then.
func (t *turns) next(instance int64, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.free, func(_ int64, at time.Time) bool { return !at.After(now) })
	at, waits := t.free[instance]
	if !waits {
		at = now
	}
	if t.free == nil {
		t.free = map[int64]time.Time{}
	}
	t.free[instance] = at.Add(checkPause)
	return at.Sub(now)
}

// pause reports whether ctx did not end meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
