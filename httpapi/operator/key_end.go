package operator

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"postern/access"
	"postern/batch"
	"postern/event"
	"postern/httpapi/rest"
	"postern/instance"
	"postern/instance/later"
)

// MaxRunning bounds each list of keyRunning: as many as one user has open batches, unless
// message.batch.max_open is raised.
const MaxRunning = 1000

// KeyRunning is the work of a scoped key that continues without further requests.
type KeyRunning struct {
	Batches       []batch.KeyBatch       `json:"batches" doc:"Unfinished batches that it created or started last, the oldest first, 1,000 at most."`
	TotalBatches  int                    `json:"totalBatches" doc:"How many such batches there are." example:"1" rules:"minimum=0"`
	Webhooks      []instance.KeyReceiver `json:"webhooks"` // enabled, changed with it last
	TotalWebhooks int                    `json:"totalWebhooks" doc:"How many such webhooks and endpoints there are." example:"1" rules:"minimum=0"`
	Sends         []later.KeySend        `json:"scheduled" doc:"Sends that it scheduled and that have not ended, 1,000 at most."`
	TotalSends    int                    `json:"totalScheduled" doc:"How many such sends there are." example:"1" rules:"minimum=0"`
}

// ShownKey is a key with what keeps running when it is deleted.
type ShownKey struct {
	KeyView
	KeyRunning
}

// DeletedKey is a key before its deletion, with the work that it left running.
type DeletedKey struct {
	ShownKey
	Stopped *KeyRunning `json:"stopped,omitempty"` // as it is now
}

// deleteKey answers with the key before its deletion. With stop=true, further commits stop the work
// that it left running; if these fail, or the program ends, another DELETE or the next start
// continues them.
func (a *API) deleteKey(c *rest.Call) error {
	stop, err := c.Flag("stop")
	if err != nil {
		return err
	}
	if err := c.NoBody(); err != nil {
		return err
	}
	id, err := idOfKey(c)
	if err != nil {
		return err
	}
	k, err := a.Access.Keys.Delete(c.Request.Context(), id, stop)
	if errors.Is(err, access.ErrNotFound) {
		stop = true
		k, err = a.Access.Keys.EndingKey(id)
	}
	if err != nil {
		return err
	}
	if a.Hub != nil {
		a.Hub.Revoke(rest.KeyToken(id))
	}
	ends := a.ends()
	ends.actor, ends.from = c.Actor(), c.Address()
	out := DeletedKey{ShownKey: ShownKey{KeyView: a.keyView(k)}}
	if !stop {
		out.KeyRunning, err = ends.running(id)
	} else {
		out.KeyRunning = KeyRunning{}.with(nil, nil) // though some may have a message on its way
		out.Stopped = &KeyRunning{}
		*out.Stopped, err = ends.stop(context.WithoutCancel(c.Request.Context()), id)
	}
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, out)
}

func (a *API) ends() keyEnds {
	return keyEnds{who: a.Access, engine: a.Engine, registry: a.Registry, scheduled: a.Scheduled}
}

// EndKeys continues deletions of keys whose stops were interrupted by the end of the
// program. It returns at the first failure; the next start continues.
func EndKeys(ctx context.Context, who rest.Access, engine *batch.Engine, registry *instance.Registry, scheduled *later.Scheduler) error {
	keys, err := who.Keys.Ending()
	for _, k := range keys {
		if err == nil {
			_, err = keyEnds{who, engine, registry, scheduled, rest.ActorGlobal, ""}.stop(ctx, k.ID)
		}
	}
	return err
}

// keyEnds finds and stops what scoped keys left running, for an actor at an address.
type keyEnds struct {
	who       rest.Access
	engine    *batch.Engine
	registry  *instance.Registry
	scheduled *later.Scheduler

	actor, from string
}

func (e keyEnds) running(id uuid.UUID) (r KeyRunning, err error) {
	r.Batches, r.TotalBatches, err = e.engine.OfKey(id, MaxRunning)
	if err != nil {
		return r, err
	}
	sends, err := e.scheduled.OfKey(id)
	return r.with(e.registry.OfKey(id), sends), err
}

// with returns r with these webhooks and scheduled sends, and with empty lists instead of null.
func (r KeyRunning) with(webhooks []instance.KeyReceiver, sends []later.KeySend) KeyRunning {
	r.TotalWebhooks, r.TotalSends = len(webhooks), len(sends)
	r.Webhooks = append([]instance.KeyReceiver{}, webhooks[:min(len(webhooks), MaxRunning)]...)
	r.Sends = append([]later.KeySend{}, sends[:min(len(sends), MaxRunning)]...)
	if r.Batches == nil {
		r.Batches = []batch.KeyBatch{}
	}
	return r
}

// stop stops the work that a deleted key left running, and returns its state afterwards. It may be
// repeated.
func (e keyEnds) stop(ctx context.Context, id uuid.UUID) (stopped KeyRunning, err error) {
	webhooks, err := e.disable(ctx, id)
	if err == nil {
		stopped.Batches, stopped.TotalBatches, err = e.engine.StopOfKey(ctx, id, MaxRunning)
	}
	var sends []later.KeySend
	if err == nil {
		sends, err = e.scheduled.DeleteOfKey(ctx, id)
	}
	if err == nil {
		err = e.who.Keys.Ended(ctx, id)
	}
	return stopped.with(webhooks, sends), err
}

// disable disables the webhooks of a key. Each instance gets a record in the audit log, in the commit
// that changes it.
func (e keyEnds) disable(ctx context.Context, id uuid.UUID) ([]instance.KeyReceiver, error) {
	type change struct{ instance, action string }
	of := func(r instance.KeyReceiver) change {
		if r.Target == event.TargetWebhook {
			return change{r.InstanceName, rest.ActionWebhook}
		}
		return change{r.InstanceName, rest.ActionOptions}
	}
	noted := map[change]*access.Entry{}
	var entries []*access.Entry
	for _, r := range e.registry.OfKey(id) {
		if c := of(r); noted[c] == nil {
			noted[c] = e.who.Book.Note(e.actor, c.action, c.instance, e.from)
			entries = append(entries, noted[c])
		}
	}
	done, err := e.registry.DisableOfKey(access.Along(ctx, entries), id)
	kept := map[change]bool{}
	for _, r := range done {
		kept[of(r)] = true
	}
	for c, entry := range noted {
		if kept[c] {
			err = errors.Join(err, entry.Keep(ctx))
		} else {
			err = errors.Join(err, entry.Withdraw(ctx))
		}
	}
	return done, err
}
