package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// ErrQueueFull says that as many asynchronous sends wait as may.
var ErrQueueFull = errors.New("the queue of asynchronous sends is full")

const processing = "processing"

// ProcessorConfig is what a Processor needs. Store, Registry and Supervisor are
// required.
type ProcessorConfig struct {
	Store      *store.Store
	Registry   *Registry
	Supervisor *Supervisor

	Workers   int           // sends at a time; 0 means 4
	QueueSize int           // sends that wait; 0 means 100
	Timeout   time.Duration // for one send until it can leave, waiting for its connection and its turn included, its own delay not; 0 means 60 s

	// Release forgets an upload that was made for one send alone, in the commit
	// that ends it. nil: it is kept.
	Release func(tx *store.Tx, instance int64, upload string) error

	// Restored tells that the file came from a backup: sends that wait in it may have
	// left since, and are told of as such.
	Restored bool

	Logger *slog.Logger // nil discards
}

// Processor carries out sends that were accepted before they were done. An
// accepted one is in the file until its end was told by a send.message event:
// a restart goes on with those that waited, and tells of one that was on its
// way that its outcome is unknown. Its methods may be called from any
// goroutine.
type Processor struct {
	cfg  ProcessorConfig
	log  *slog.Logger
	work sync.WaitGroup

	life context.Context // ends with Stop: no job is begun from then on
	end  context.CancelFunc

	mu      sync.Mutex
	waiting []job
	more    chan struct{} // size 1: a worker may have something to do
	kept    int           // jobs in the file
}

// job is one accepted send as it is stored.
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

// NewProcessor returns a processor that does nothing before Start.
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
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Processor{cfg: cfg, log: cfg.Logger.With("component", "processor"), more: make(chan struct{}, 1)}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// Start takes up what the last run left behind and begins to work.
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
		err := fmt.Errorf("%w: the program ended while the message was on its way", event.ErrOutcomeUnknown)
		if !j.Sending {
			err = fmt.Errorf("%w: the message waited in a backup that was restored, and may have left since that was made", event.ErrOutcomeUnknown)
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

// Stop begins no more sends and waits for those on their way, until ctx ends.
// What waits goes on after the next start.
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
		return fmt.Errorf("asynchronous sends still on their way: %w", context.Cause(ctx))
	}
}

// Deferred is a send that is to be carried out after its call was answered.
type Deferred struct {
	Instance   int64
	Out        event.Outgoing
	Attributes event.Attributes
	RequestID  string // of the call
	OwnUpload  bool   // the upload that Out names is for this send alone
	// InCommit is called in the commit that accepts the send, maybe twice; its
	// error refuses it. nil: nothing more is stored.
	InCommit func(tx *store.Tx, processID string) error
}

// Accept stores a send and returns the id under which its end is told.
// Errors: ErrNotFound, ErrQueueFull and those of the store.
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
		if !tx.Has(instances, store.Key(d.Instance)) {
			return ErrNotFound
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

// Kept tells how many accepted sends have not ended: those that wait and those
// on their way.
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

// do carries out one job. When the program stops before the message could
// leave, the job stays for the next start.
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

// errNotBegun is wrapped when it could not be stored that a message leaves.
var errNotBegun = errors.New("its beginning could not be stored")

// send sends the message of a job, which begins when that leaves: until then
// the time that it may take, and the end of the program, can call it off.
func (p *Processor) send(j *job) (event.Sent, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	late := time.AfterFunc(p.cfg.Timeout+j.Out.Delay, func() {
		cancel(fmt.Errorf("%w: the message could not leave within %v", event.ErrBusy, p.cfg.Timeout))
	})
	defer late.Stop()
	on := context.AfterFunc(p.life, func() { cancel(context.Cause(p.life)) })
	defer on()
	if err := p.cfg.Supervisor.awaitOnline(ctx, j.Instance); err != nil {
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

// begin stores that the message of a job may leave.
func (p *Processor) begin(j job) error {
	return p.cfg.Store.Update(context.Background(), func(tx *store.Tx) error {
		if !tx.Has(processing, j.key()) {
			return ErrNotFound // deleted with its instance
		}
		return store.PutJSON(tx, processing, j.key(), j)
	})
}

// whenThereIsRoom repeats a commit while the disk is full, until the program
// stops: whoever was told that the send is accepted waits for its end.
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

// waitForRoom waits a moment for room on the disk. It reports false when the
// program stops.
func (p *Processor) waitForRoom(j job, pause time.Duration) bool {
	p.log.Warn("an asynchronous send waits for room on the disk; free some space", "instance_id", j.Instance)
	select {
	case <-time.After(pause):
		return true
	case <-p.life.Done():
		return false
	}
}

// leave ends the work on a job that could not be stored: it is in the file for
// the next start, unless it is gone with its instance.
func (p *Processor) leave(j job, err error) {
	if !errors.Is(err, ErrNotFound) {
		p.log.Error("an asynchronous send waits for the next start: its progress could not be stored; restart the program once the cause is removed", "instance_id", j.Instance, "error", err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept--
}

// awaitOnline waits until the instance is connected. The error wraps
// event.ErrNotConnected when ctx ends first.
func (s *Supervisor) awaitOnline(ctx context.Context, id int64) error {
	k, err := s.keeper(ctx, id)
	if err != nil {
		return err
	}
	for {
		k.mu.Lock()
		changed := k.changed
		k.mu.Unlock()
		if k.session.Online() {
			return nil
		}
		if err := k.session.WrongNetwork(); err != nil {
			return fmt.Errorf("instance %d: %w", id, err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("instance %d: %w", id, event.ErrNotConnected)
		}
	}
}

// finish removes the job in the commit that stores its message, then tells the
// end of it.
func (p *Processor) finish(ctx context.Context, j job, sent *event.Sent, failed error) error {
	result := event.SendResult{
		ProcessID: j.ID.String(), Status: event.AsyncSent, MentionAll: j.Out.MentionAll, ExternalAttributes: j.Attributes,
	}
	if result.ExternalAttributes == nil {
		result.ExternalAttributes = event.Attributes("{}")
	}
	if failed == nil {
		m := sent.Message
		m.InstanceID, m.ExternalAttributes = j.Instance, result.ExternalAttributes
		result.Data = &event.AsyncMessage{
			MessageID: m.KeyID, RemoteJID: *m.KeyRemoteJID, ParticipantCount: sent.Participants, Timestamp: event.At(time.Unix(m.MessageTimestamp, 0)),
		}
	} else {
		result.Status, result.Error = event.AsyncFailed, &event.AsyncSendFail{Code: failureCode(failed), Message: failed.Error()}
	}
	t, about := p.cfg.Registry.telling(j.Instance), p.aboutOf(j, result)
	err := t.commit(ctx, func(tx *store.Tx) error {
		if failed == nil {
			if _, err := p.cfg.Registry.StoreMessage(tx, j.Instance, sent.Message); err != nil {
				return err
			}
		}
		t.add(event.SendMessage, result, about, j.RequestID)
		return errors.Join(p.release(tx, j), tx.Delete(processing, j.key()))
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.kept--
	p.mu.Unlock()
	p.cfg.Registry.publish(ctx, t)
	return nil
}

// aboutOf is the chat that a job was for, also when nothing was sent there.
func (p *Processor) aboutOf(j job, result event.SendResult) event.About {
	if result.Data != nil {
		return p.cfg.Registry.about(result)
	}
	return event.About{Chat: j.Out.To, FromMe: true}.With(p.cfg.Registry.cfg.Twin)
}

// release forgets the file of a job that has ended.
func (p *Processor) release(tx *store.Tx, j job) error {
	if !j.OwnUpload || p.cfg.Release == nil || j.Out.Content.Media == nil {
		return nil
	}
	return p.cfg.Release(tx, j.Instance, j.Out.Content.Media.UploadID)
}

// failureCode is the machine code of a send's error, as the API has it.
func failureCode(err error) string {
	if code := event.NotNowCode(err); code != "" {
		return code
	}
	for _, c := range []struct {
		err  error
		code string
	}{
		{event.ErrMediaType, "MEDIA_TYPE_UNSUPPORTED"},
		{event.ErrMedia, "INVALID_MEDIA"}, // also when its time is over, whose cause is ErrBusy
		{event.ErrWrongNetwork, "WRONG_NETWORK"},
		{event.ErrNotConnected, "INSTANCE_NOT_CONNECTED"},
		{event.ErrBusy, "INSTANCE_BUSY"},
		{event.ErrOutcomeUnknown, event.SendResultUnknown},
		{store.ErrDiskFull, "DISK_FULL"},
		{event.ErrNotOnWhatsApp, "RECIPIENT_NOT_ON_WHATSAPP"},
	} {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return event.SendMessageFailed
}
