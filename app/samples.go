package app

import (
	"context"
	runtimemetrics "runtime/metrics"
	"time"

	"postern/console/samples"
	"postern/event"
)

// startSamples records the state of the program each minute.
func (a *App) startSamples(context.Context) (err error) {
	if a.samples, err = samples.Open(samples.Config{Read: a.reading, Store: a.store, Logger: a.log.With("component", "samples")}); err != nil {
		return err
	}
	a.samples.Start()
	a.stops.push("samples", a.samples.Stop)
	return nil
}

// reading returns the current counters of the parts.
func (a *App) reading() samples.Reading {
	flow := a.registry.Flow()
	accepted, failed := a.metrics.outcomes()
	return samples.Reading{
		Counts: samples.Counts{Sent: flow.Sent, Received: flow.Received, Deliveries: accepted, Failed: failed},
		Levels: samples.Levels{
			Instances: a.instanceStates(), OldestPending: a.oldestPending(time.Now()),
			FileBytes: a.store.Stats().FileBytes, MemoryBytes: memory(),
		},
	}
}

// instanceStates counts the instances in the order of event.States.
func (a *App) instanceStates() []int32 {
	states := event.States()
	at := make(map[event.State]int, len(states))
	for i, s := range states {
		at[s] = i
	}
	counts := make([]int32, len(states))
	for _, rec := range a.registry.List() {
		counts[at[rec.Status]]++
	}
	return counts
}

// oldestPending returns the age of the oldest pending event. What cannot
// be read is left out, as in the metrics.
func (a *App) oldestPending(now time.Time) (age time.Duration) {
	look := func(at time.Time) {
		if !at.IsZero() {
			age = max(age, now.Sub(at))
		}
	}
	if _, oldest, err := a.outbox.Backlog(); err == nil {
		look(oldest)
	}
	if waiting, err := a.relay.Waiting(); err == nil {
		for _, w := range waiting {
			look(w.Oldest)
		}
	}
	return age
}

// memory returns the resident memory of the program in bytes, without the pages of the data file
// that the system caches.
func memory() int64 {
	all := []runtimemetrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	runtimemetrics.Read(all)
	return int64(all[0].Value.Uint64() - all[1].Value.Uint64())
}
