package batch

import (
	"strings"

	"postern/event"
)

// The statuses as short words, as in package table.
const (
	draft    = event.BatchDraft
	queued   = event.BatchQueued
	schedul  = event.BatchIsScheduled
	process  = event.BatchProcessing
	waitWin  = event.BatchWaitingForWindow
	pausing  = event.BatchPauseAsked
	paused   = event.BatchIsPaused
	waitInst = event.BatchWaitingForInstance
	stopping = event.BatchStopAsked
	stopped  = event.BatchIsStopped
	interr   = event.BatchIsInterrupted
	complete = event.BatchIsCompleted
	witherr  = event.BatchIsWithErrors
)

func in(s ...event.BatchStatus) []event.BatchStatus { return s }

func emit(k ...event.Kind) []event.Kind { return k }

func names(kinds []event.Kind) string {
	var short []string
	for _, k := range kinds {
		short = append(short, strings.TrimPrefix(string(k), "message.batch."))
	}
	return strings.Join(short, " ")
}
