package httpapi

import (
	"net/http"
	"time"

	"postern/backup"
	"postern/console/samples"
	"postern/event"
	"postern/httpapi/rest"
)

// sampleList is the last day, a minute each.
type sampleList struct {
	Interval int           `json:"interval"` // seconds from one sample to the next
	Backup   *backupState  `json:"backup"`   // null: the program makes none by itself
	Samples  []minuteShown `json:"samples"`  // the oldest first
}

// backupState is how the backups stand that the program makes by itself.
type backupState struct {
	Every    int64       `json:"every"`  // seconds from one to the next
	LastAt   *event.Time `json:"lastAt"` // null: there is none yet
	Bytes    *int64      `json:"bytes"`
	Failure  *string     `json:"failure"` // of the last attempt, null when it went well
	FailedAt *event.Time `json:"failedAt"`
}

// minuteShown is how the program stood in one minute.
type minuteShown struct {
	At            event.Time            `json:"at"`        // when it began
	Instances     map[event.State]int32 `json:"instances"` // by connection state, each of them
	Sent          uint64                `json:"sent"`
	Received      uint64                `json:"received"`
	Deliveries    uint64                `json:"deliveries"`
	Failed        uint64                `json:"failed"`
	OldestPending int64                 `json:"oldestPendingSeconds"`
	FileBytes     int64                 `json:"fileBytes"`
	MemoryBytes   int64                 `json:"memoryBytes"`
}

// listSamples answers with the samples of the last day, or those since a time.
func (a *operatorAPI) listSamples(c *rest.Call) error {
	q, err := c.Query([]string{"since"})
	if err != nil {
		return err
	}
	at, err := rest.ParseTime("since", q.Get("since"))
	if err != nil {
		return err
	}
	out := sampleList{Interval: int(samples.Interval / time.Second), Samples: []minuteShown{}}
	if a.Backups != nil {
		out.Backup = showBackups(a.Backups())
	}
	if a.Samples != nil {
		for _, s := range a.Samples.Since(at) {
			out.Samples = append(out.Samples, showMinute(s))
		}
	}
	return c.Response.JSON(http.StatusOK, out)
}

func showBackups(s backup.State) *backupState {
	out := &backupState{Every: int64(s.Every / time.Second), LastAt: rest.TimeOrNull(s.Last), Bytes: rest.UnlessZero(s.Bytes), FailedAt: rest.TimeOrNull(s.FailedAt)}
	if s.Failed != nil {
		out.Failure = rest.UnlessZero(s.Failed.Error())
	}
	return out
}

// showMinute is a sample whose instances are in the order of event.States.
func showMinute(s samples.Sample) minuteShown {
	counts := map[event.State]int32{}
	for i, state := range event.States() {
		counts[state] = 0
		if i < len(s.Instances) {
			counts[state] = s.Instances[i]
		}
	}
	return minuteShown{
		At: event.At(s.At), Instances: counts, Sent: s.Sent, Received: s.Received, Deliveries: s.Deliveries, Failed: s.Failed,
		OldestPending: int64(s.OldestPending / time.Second), FileBytes: s.FileBytes, MemoryBytes: s.MemoryBytes,
	}
}
