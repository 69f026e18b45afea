package app

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"postern/app/fleet"
	"postern/batch"
	"postern/console/trouble"
	"postern/event"
	"postern/store/files"
)

// What makes the program a trouble.
const (
	lowDisk          = 1 << 30
	certificateSoon  = 14 * 24 * time.Hour
	certificateLast  = 3 * 24 * time.Hour
	backupsLate      = 2 // times backup.every
	undeliveredEvery = 30 * time.Second
	standbyEvery     = 30 * time.Second
	probeEvery       = 10 * time.Second
)

// openTroubles opens the list of what is wrong, for the API.
func (a *App) openTroubles(context.Context) error {
	s := &state{a: a, jobs: jobs{a: a, dirty: map[uuid.UUID]bool{}, open: map[uuid.UUID]trouble.Job{}}, silent: map[int64]bool{}}
	if err := s.jobs.load(); err != nil {
		return fmt.Errorf("open batches: %w", err)
	}
	a.openJobs = &s.jobs
	a.troubles = trouble.New(trouble.Config{
		Accounts: s.accounts, Receivers: a.receivers.Wrong, Jobs: s.jobs.all, Program: s.program,
		Changed: a.console.TroublesChanged, Touched: a.console.InstanceChanged, Watched: a.console.Watched, Now: a.store.Now, PhoneAttention: a.cfg.WhatsApp.PhoneAttention, PhoneBroken: a.cfg.WhatsApp.PhoneBroken, Logger: a.log,
	})
	return nil
}

// watchTroubles begins to look for what is wrong, with all parts in place.
func (a *App) watchTroubles(context.Context) error {
	a.troubles.Start()
	a.stops.push("troubles", a.troubles.Stop)
	return nil
}

// state reads the state of the parts of a program.
type state struct {
	a    *App
	jobs jobs

	asked time.Time   // the cell, for its nodes
	alone atomic.Bool // no other node is ready to take over

	probed  time.Time
	probing atomic.Bool
	refused atomic.Pointer[error] // of the last probe of the data file

	counted time.Time
	silent  map[int64]bool // instances with too many messages without a receipt
}

// accounts returns all instances as they are now.
func (s *state) accounts() (all []trouble.Account) {
	now := s.a.store.Now()
	list := s.a.registry.List()
	if age := now.Sub(s.counted); age < 0 || age >= undeliveredEvery {
		s.counted = now
		clear(s.silent)
		for _, rec := range list {
			if rec.Status != event.Online {
				continue
			}
			lost, err := s.a.supervisor.Undelivered(rec.ID)
			if err == nil && fleet.Silent(lost) {
				s.silent[rec.ID] = true
			}
		}
	}
	for _, rec := range list {
		is := trouble.Account{
			ID: rec.ID, Name: rec.Name, State: rec.Status, StateSince: rec.StatusAt.Time, Paired: rec.OwnerJID != "", Dials: s.a.supervisor.Dials(rec.ID),
			ByCall: rec.LoggedOutByCall, Moved: rec.HasMoved(), Elsewhere: rec.Elsewhere != "", PhoneSeen: rec.PhoneSeenAt.Time, Unanswered: s.silent[rec.ID],
		}
		if r, restricted := rec.Restriction(now); restricted {
			if is.Restricted = r.Since.Time; is.Restricted.IsZero() {
				is.Restricted = rec.UpdatedAt.Time
			}
		}
		all = append(all, is)
	}
	return all
}

// program returns what is wrong with the program itself.
func (s *state) program() (all []trouble.Condition) {
	a, now := s.a, s.a.store.Now()
	add := func(k trouble.Kind, s trouble.Severity, text string, since time.Time) {
		all = append(all, trouble.Condition{Kind: k, Severity: s, Text: text, Since: since})
	}
	reasons := a.notReady()
	s.probe(now)
	err := a.store.Admit()
	if last := s.refused.Load(); err == nil && last != nil {
		err = *last
	}
	if err != nil {
		reasons = append(reasons, err.Error())
	}
	for _, reason := range reasons {
		add(trouble.NotReady, trouble.Broken, reason, time.Time{})
	}
	for _, w := range append(a.store.Warnings(), a.warnings()...) {
		add(trouble.Warning, trouble.Attention, w, time.Time{})
	}
	if a.backups != nil {
		if b := a.backups.State(); b.Failed != nil || !b.Last.IsZero() && now.Sub(b.Last) > backupsLate*b.Every {
			since := b.FailedAt
			if b.Failed == nil {
				since = b.Last.Add(backupsLate * b.Every)
			}
			add(trouble.BackupLate, trouble.Attention, "backups", since)
		}
	}
	if of := a.certEnds.Load(); of != nil {
		if ends := (*of)(); !ends.IsZero() && ends.Sub(now) < certificateSoon {
			severity := trouble.Attention
			if ends.Sub(now) < certificateLast {
				severity = trouble.Broken
			}
			add(trouble.CertificateEnding, severity, "server.tls", ends.Add(-certificateSoon))
		}
	}
	if a.cell != nil {
		s.askCell(now)
		if s.alone.Load() {
			add(trouble.NoStandby, trouble.Broken, "cell "+a.cell.name, time.Time{})
		}
	}
	return all
}

// askCell asks the database for the nodes of the cell, in the background.
func (s *state) askCell(now time.Time) {
	if age := now.Sub(s.asked); age >= 0 && age < standbyEvery {
		return
	}
	s.asked = now
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), standbyEvery)
		defer cancel()
		if is := s.a.cell.node.Status(ctx); is.Engine != nil {
			s.alone.Store(!is.Well())
		}
	}()
}

// probe finds out in the background whether the data file takes changes, as /ready does.
func (s *state) probe(now time.Time) {
	if age := now.Sub(s.probed); age >= 0 && age < probeEvery || !s.probing.CompareAndSwap(false, true) {
		return
	}
	s.probed = now
	go func() {
		defer s.probing.Store(false)
		err := s.a.store.Probe(context.Background())
		s.refused.Store(&err)
	}()
}

// lowOnDisk warns of less than a gigabyte of room for the data file.
func lowOnDisk(path string) string {
	free, known := files.FreeBytes(path)
	if !known || free >= lowDisk {
		return ""
	}
	return "less than 1 GB is free on the disk of the data file: make room before it is full"
}

// jobs has the open batches in memory. A change of a batch marks it, and the next look reads it.
type jobs struct {
	a *App

	mu    sync.Mutex
	dirty map[uuid.UUID]bool
	open  map[uuid.UUID]trouble.Job
}

// openStatuses are those in which a batch can be in trouble.
var openStatuses = []event.BatchStatus{event.BatchProcessing, event.BatchWaitingForInstance, event.BatchWaitingForWindow}

// load reads the open batches of the file.
func (j *jobs) load() error {
	for page := (batch.Page{Limit: 200}); ; {
		list, err := j.a.engine.AllBatches(batch.Filter{Status: openStatuses}, page)
		if err != nil {
			return err
		}
		for _, b := range list.Records {
			j.put(b)
		}
		if list.NextCursor == nil {
			return nil
		}
		page.Next = *list.NextCursor
	}
}

func (j *jobs) put(b batch.View) {
	job := trouble.Job{ID: b.ID, Owner: b.OwnerUserID, Name: b.Name, Status: b.Status, UpdatedAt: b.UpdatedAt.Time, Failed: b.Counts.Failed + b.Counts.Unknown}
	job.Ended = job.Failed + b.Counts.Success
	for _, ref := range b.Instances {
		job.Instances = append(job.Instances, ref.ID)
	}
	j.open[b.ID] = job
}

// changed notes that a batch changed.
func (j *jobs) changed(id uuid.UUID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.dirty[id] = true
}

// all returns the open batches as they are now.
func (j *jobs) all() (all []trouble.Job) {
	j.mu.Lock()
	dirty := j.dirty
	j.dirty = map[uuid.UUID]bool{}
	j.mu.Unlock()
	for id := range dirty {
		b, err := j.a.engine.AnyBatch(id, nil)
		delete(j.open, id)
		if err == nil && isOpen(b.Status) {
			j.put(b)
		}
	}
	for _, job := range j.open {
		all = append(all, job)
	}
	return all
}

func isOpen(s event.BatchStatus) bool { return slices.Contains(openStatuses, s) }

// troublesFor returns the troubles that a viewer of the console may see.
func (a *App) troublesFor(viewer any) any {
	v, _ := viewer.(trouble.Viewer)
	return a.troubles.Items(v)
}

// stalled is how long a loop of the relay may be inactive before the program is
// not ready.
const stalled = time.Minute

// notReady returns the reasons why the program is not ready. The
// API checks the store itself.
func (a *App) notReady() (reasons []string) {
	if time.Since(a.relay.Stats().LastTurn) > stalled {
		reasons = append(reasons, "the webhook relay is stalled")
	}
	return reasons
}

// Stuck returns the stalled loops, for which only a restart may help; nothing when
// all run. Unlike readiness it does not check the free space of the disk.
func (a *App) Stuck(ctx context.Context) (reasons []string) {
	if !a.leads() {
		return nil // it waits for the database or for its turn, and a restart would not help
	}
	reasons = a.notReady()
	if err := a.store.Probe(ctx); err != nil {
		reasons = append(reasons, err.Error())
	}
	return reasons
}
