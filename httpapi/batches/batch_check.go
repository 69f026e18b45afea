package batches

import (
	"context"
	"net/http"
	"time"

	"postern/batch"
	"postern/event"
	"postern/httpapi/rest"
)

// How many numbers a dry run asks for, in all and at once, and the pause after each step.
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
	Checked       int                   `json:"checked" doc:"How many numbers were asked for: the first 500, or none without an instance that is online." example:"500" rules:"minimum=0"`
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
	ctx := c.Request.Context()
	for from := 0; from < len(t.Numbers); from += checkStep {
		if from > 0 && !pause(ctx, checkPause) {
			return context.Cause(ctx)
		}
		step := t.Numbers[from:min(from+checkStep, len(t.Numbers))]
		found, asked := a.registered(ctx, t.Instances, step)
		if !asked {
			break
		}
		out.Checked += len(step)
		for _, r := range found {
			if !r.Exists {
				out.NotOnWhatsApp = append(out.NotOnWhatsApp, r.Number)
			}
		}
	}
	return c.Response.JSON(http.StatusOK, out)
}

// registered asks WhatsApp for numbers by the first instance that can. asked is false if none can.
func (a *API) registered(ctx context.Context, instances []event.BatchInstance, numbers []string) (found []event.Registration, asked bool) {
	for _, i := range instances {
		account, err := a.Supervisor.Account(ctx, i.ID)
		if err != nil {
			continue
		}
		if found, err = account.Registered(ctx, numbers); err == nil {
			return found, true
		}
	}
	return nil, false
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
