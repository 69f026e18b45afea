package later

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/instance"
	"postern/store"
)

// ErrQueueFull reports that the queue of asynchronous sends is full.
var ErrQueueFull = errors.New("the asynchronous send queue is full")

// ProcessorConfig configures a Processor. Store, Registry and Supervisor are required.
type ProcessorConfig struct {
	Store      *store.Store
	Registry   *instance.Registry
	Supervisor *instance.Supervisor

	Workers   int           // concurrent sends; 0 means 4
	QueueSize int           // waiting sends; 0 means 100
	Timeout   time.Duration // until a send can leave, including the wait for its connection and turn, but not its own delay; 0 means 60 s

	// Release removes an upload made for one send only, in the commit that ends the send.
	// nil: it is kept.
	Release func(tx *store.Tx, instance int64, upload string) error

	// Restored reports that the file came from a backup: sends waiting in it may have
	// left since, and end as such.
	Restored bool

	Logger *slog.Logger // nil discards
}

// Processor performs accepted sends asynchronously. An accepted send is stored until a
// send.message event reports its end. After a restart waiting sends continue, and those
// in progress end with an unknown outcome. It is safe for concurrent use.
type Processor struct {
	cfg  ProcessorConfig
	log  *slog.Logger
	work sync.WaitGroup

	life context.Context // ends with Stop; no job begins afterwards
	end  context.CancelFunc

	mu      sync.Mutex
	waiting []job
	more    chan struct{} // size 1: work may be available for a worker
	kept    int           // jobs in the store
}

// job is an accepted send as stored.
type job struct {
	ID         uuid.UUID        `json:"id"` // the processId
	Instance   int64            `json:"instance"`
	Out        event.Outgoing   `json:"out"`
	Attributes event.Attributes `json:"attributes,omitempty"`
	RequestID  string           `json:"requestId"`
	Sending    bool             `json:"sending"` // may have left
	OwnUpload  bool             `json:"ownUpload,omitempty"`
}

func (j *job) key() []byte { return store.Key(j.Instance, j.ID) }

// NewProcessor returns a processor, to be started with Start.
func NewProcessor(cfg ProcessorConfig) *Processor {
	if cfg.Workers <= 0 {
		cfg.Workers = 4
	}
	if cfg.QueueSize <= 0 {
		cfg.QueueSize = 100
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = time.Minute
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	p := &Processor{cfg: cfg, log: cfg.Logger.With("component", "processor"), more: make(chan struct{}, 1)}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// Start loads the jobs of the previous run and begins to work.
func (p *Processor) Start(ctx context.Context) error {
	var left []job
	err := p.cfg.Store.View(func(tx *store.Tx) error {
		return tx.Scan(processing, store.Range{}, func(k, v []byte) (bool, error) {
			var j job
			if err := json.Unmarshal(v, &j); err != nil {
				return true, tx.Unreadable(processing, k, err)
			}
			left = append(left, j)
			return true, nil
		})
	})
	if err != nil {
		return fmt.Errorf("asynchronous sends: %w", err)
	}
	p.kept = len(left)
	for _, j := range left {
		if !j.Sending && !p.cfg.Restored {
			p.waiting = append(p.waiting, j)
			continue
		}
		err := fmt.Errorf("%w: the program stopped while the message was being sent", event.ErrOutcomeUnknown)
		if !j.Sending {
			err = fmt.Errorf("%w: the message was waiting in a restored backup and may have been sent since", event.ErrOutcomeUnknown)
		}
		if err := p.finish(ctx, j, nil, err); err != nil {
			return err
		}
	}
	for range p.cfg.Workers {
		p.work.Go(p.worker)
	}
	p.wake()
	return nil
}

// Stop begins no more sends and waits for those in progress until ctx ends. Waiting sends
// continue after the next start.
func (p *Processor) Stop(ctx context.Context) error {
	p.end()
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.work.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("asynchronous sends still in progress: %w", context.Cause(ctx))
	}
}

// Deferred is a send to be performed after its call has been answered.
type Deferred struct {
	Instance   int64
	Out        event.Outgoing
	Attributes event.Attributes
	RequestID  string // of the call
	OwnUpload  bool   // the upload of Out is for this send only
	// InCommit is called in the commit that accepts the send, possibly twice; its error
	// rejects the send. It may be nil.
	InCommit func(tx *store.Tx, processID string) error
}

// Accept stores a send and returns the id under which its end is reported. Errors:
// instance.ErrNotFound, ErrQueueFull and those of the store.
func (p *Processor) Accept(ctx context.Context, d Deferred) (processID string, err error) {
	process, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("asynchronous send: %w", err)
	}
	j := job{ID: process, Instance: d.Instance, Out: d.Out, Attributes: d.Attributes, RequestID: d.RequestID, OwnUpload: d.OwnUpload}
	if !p.reserve() {
		return "", ErrQueueFull
	}
	err = p.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		if err := instance.There(tx, d.Instance); err != nil {
			return err
		}
		if d.InCommit != nil {
			if err := d.InCommit(tx, process.String()); err != nil {
				return err
			}
		}
		return store.PutJSON(tx, processing, j.key(), j)
	})
	p.mu.Lock()
	if err == nil {
		p.waiting = append(p.waiting, j)
	} else {
		p.kept--
	}
	p.mu.Unlock()
	if err != nil {
		return "", fmt.Errorf("asynchronous send: %w", err)
	}
	p.wake()
	return process.String(), nil
}

// Kept returns the number of accepted sends that have not ended, waiting or in progress.
func (p *Processor) Kept() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept
}

// reserve takes a place in the queue.
func (p *Processor) reserve() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept >= p.cfg.QueueSize+p.cfg.Workers {
		return false
	}
	p.kept++
	return true
}

func (p *Processor) wake() {
	select {
	case p.more <- struct{}{}:
	default:
	}
}

func (p *Processor) worker() {
	for {
		j, ok := p.take()
		if ok {
			p.do(j)
			continue
		}
		select {
		case <-p.more:
		case <-p.life.Done():
			return
		}
	}
}

// take returns the next job, and wakes another worker for the one after it.
func (p *Processor) take() (job, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 || p.life.Err() != nil {
		return job{}, false
	}
	j := p.waiting[0]
	p.waiting = p.waiting[1:]
	if len(p.waiting) > 0 {
		p.wake()
	}
	return j, true
}

// do performs one job. If the program stops before the message could leave, the job
// remains for the next start.
func (p *Processor) do(j job) {
	sent, err := p.send(&j)
	for pause := time.Second; errors.Is(err, errNotBegun) && errors.Is(err, store.ErrDiskFull) && p.waitForRoom(j, pause); pause = min(2*pause, time.Minute) {
		sent, err = p.send(&j)
	}
	switch {
	case errors.Is(err, errNotBegun):
		p.leave(j, err)
		return
	case !j.Sending && p.life.Err() != nil:
		return
	}
	failed := err
	err = p.whenThereIsRoom(j, func() error { return p.finish(context.Background(), j, &sent, failed) })
	if err != nil {
		p.leave(j, err)
	}
}

// errNotBegun is wrapped if storing the start of a send failed.
var errNotBegun = errors.New("the start of the send could not be stored")

// send sends the message of a job. The job starts when the message leaves; until then its
// timeout and the end of the program can cancel it.
func (p *Processor) send(j *job) (event.Sent, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	late := time.AfterFunc(p.cfg.Timeout+j.Out.Delay, func() {
		cancel(fmt.Errorf("%w: the message could not leave within %v", event.ErrBusy, p.cfg.Timeout))
	})
	defer late.Stop()
	on := context.AfterFunc(p.life, func() { cancel(context.Cause(p.life)) })
	defer on()
	if err := p.cfg.Supervisor.AwaitOnline(ctx, j.Instance); err != nil {
		return event.Sent{}, err
	}
	out := j.Out
	out.By = event.ByQueue
	out.Leaving = func() error {
		if !late.Stop() || !on() {
			return context.Cause(ctx)
		}
		begun := *j
		begun.Sending = true
		if err := p.begin(begun); err != nil {
			return fmt.Errorf("%w: %w", errNotBegun, err)
		}
		j.Sending = true
		return nil
	}
	return p.cfg.Supervisor.Send(ctx, j.Instance, out)
}

// begin records that the message of a job may leave.
func (p *Processor) begin(j job) error {
	return p.cfg.Store.Update(context.Background(), func(tx *store.Tx) error {
		if !tx.Has(processing, j.key()) {
			return instance.ErrNotFound // deleted with its instance
		}
		return store.PutJSON(tx, processing, j.key(), j)
	})
}

// whenThereIsRoom retries a commit while the disk is full, until the program stops: the
// caller was promised a result.
func (p *Processor) whenThereIsRoom(j job, commit func() error) error {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		err := commit()
		if !errors.Is(err, store.ErrDiskFull) {
			return err
		}
		if !p.waitForRoom(j, pause) {
			return err
		}
	}
}

// waitForRoom waits before a retry on a full disk. It returns false if the program stops.
func (p *Processor) waitForRoom(j job, pause time.Duration) bool {
	p.log.Warn("an asynchronous send waits for disk space; free some space", "instance_id", j.Instance)
	select {
	case <-time.After(pause):
		return true
	case <-p.life.Done():
		return false
	}
}

// leave ends the work on a job that could not be stored: the store keeps it for the next
// start, unless its instance is gone.
func (p *Processor) leave(j job, err error) {
	if !errors.Is(err, instance.ErrNotFound) {
		p.log.Error("the progress of an asynchronous send could not be stored; it continues after the next start; remove the cause and restart the program", "instance_id", j.Instance, "error", err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept--
}

// finish reports the end of a job and removes it, in one commit.
func (p *Processor) finish(ctx context.Context, j job, sent *event.Sent, failed error) error {
	e := instance.Ended{Process: j.ID.String(), To: j.Out.To, MentionAll: j.Out.MentionAll, Attributes: j.Attributes, RequestID: j.RequestID, Sent: sent, Err: failed}
	err := p.cfg.Registry.ReportEnd(ctx, j.Instance, e, func(tx *store.Tx) error {
		return errors.Join(p.release(tx, j), tx.Delete(processing, j.key()))
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.kept--
	p.mu.Unlock()
	return nil
}

// release removes the upload of a finished job.
func (p *Processor) release(tx *store.Tx, j job) error {
	if !j.OwnUpload || p.cfg.Release == nil || j.Out.Content.Media == nil {
		return nil
	}
	return p.cfg.Release(tx, j.Instance, j.Out.Content.Media.UploadID)
}
