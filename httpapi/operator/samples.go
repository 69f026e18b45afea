package operator

import (
	"net/http"
	"time"

	"postern/backup"
	"postern/console/samples"
	"postern/event"
	"postern/httpapi/rest"
)

// SampleList holds the samples of the last day, one for each minute.
type SampleList struct {
	Interval int           `json:"interval"` // seconds from one sample to the next
	Backup   *BackupState  `json:"backup"`   // null: the program makes none by itself
	Samples  []MinuteShown `json:"samples"`  // the oldest first
}

// BackupState is the state of the scheduled backups.
type BackupState struct {
	Every    int64       `json:"every"`  // seconds from one to the next
	LastAt   *event.Time `json:"lastAt"` // null: there is none yet
	Bytes    *int64      `json:"bytes"`
	Failure  *string     `json:"failure"` // of the last attempt, null when it went well
	FailedAt *event.Time `json:"failedAt"`
}

// MinuteShown is the state of the program in one minute.
type MinuteShown struct {
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
func (a *API) listSamples(c *rest.Call) error {
	q, err := c.Query([]string{"since"})
	if err != nil {
		return err
	}
	at, err := rest.ParseTime("since", q.Get("since"))
	if err != nil {
		return err
	}
	out := SampleList{Interval: int(samples.Interval / time.Second), Samples: []MinuteShown{}}
	if a.Backups != nil {
		out.Backup = showBackups(a.Backups())
	}
	if a.Samples != nil {
		for _, s := range a.Samples.Since(at) {
			out.Samples = append(out.Samples, ShowMinute(s))
		}
	}
	return c.Response.JSON(http.StatusOK, out)
}

func showBackups(s backup.State) *BackupState {
	out := &BackupState{Every: int64(s.Every / time.Second), LastAt: rest.TimeOrNull(s.Last), Bytes: rest.UnlessZero(s.Bytes), FailedAt: rest.TimeOrNull(s.FailedAt)}
	if s.Failed != nil {
		out.Failure = rest.UnlessZero(s.Failed.Error())
	}
	return out
}

// ShowMinute shows a sample, with its instances in the order of event.States.
func ShowMinute(s samples.Sample) MinuteShown {
	counts := map[event.State]int32{}
	for i, state := range event.States() {
		counts[state] = 0
		if i < len(s.Instances) {
			counts[state] = s.Instances[i]
		}
	}
	return MinuteShown{
		At: event.At(s.At), Instances: counts, Sent: s.Sent, Received: s.Received, Deliveries: s.Deliveries, Failed: s.Failed,
		OldestPending: int64(s.OldestPending / time.Second), FileBytes: s.FileBytes, MemoryBytes: s.MemoryBytes,
	}
}
