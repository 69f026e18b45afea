package operator

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"postern/backup"
	"postern/console/samples"
	"postern/event"
	"postern/httpapi/rest"
)

// SampleList holds the samples of the last day, one for each minute, or of the last 30 days, one for each hour.
type SampleList struct {
	Interval int           `json:"interval" doc:"Seconds from one sample to the next." example:"60"`
	Backup   *BackupState  `json:"backup" doc:"The scheduled backups; null when none are configured."`
	Samples  []MinuteShown `json:"samples" doc:"The samples, oldest first."`
}

// BackupState is the state of the scheduled backups.
type BackupState struct {
	Every    int64       `json:"every" doc:"Seconds from one backup to the next." example:"86400"`
	LastAt   *event.Time `json:"lastAt" doc:"The time of the newest backup; null when there is none." example:"$time"`
	Bytes    *int64      `json:"bytes" doc:"The size of the newest one; null when unknown." example:"16805888"`
	Failure  *string     `json:"failure" doc:"Why the last attempt failed; null when it did not." example:"no space left on device"`
	FailedAt *event.Time `json:"failedAt" doc:"When it failed; null when it did not." example:"$time"`
}

// MinuteShown is the state of the program in one minute or hour.
type MinuteShown struct {
	At            event.Time            `json:"at" doc:"When the minute or hour began." example:"$time"`
	Instances     map[event.State]int32 `json:"instances"` // by connection state, each of them
	Sent          uint64                `json:"sent" doc:"Messages that WhatsApp accepted in this time." example:"12" rules:"minimum=0"`
	Received      uint64                `json:"received" doc:"Messages from others received in this time." example:"30" rules:"minimum=0"`
	Deliveries    uint64                `json:"deliveries" doc:"Delivery attempts that a receiver accepted in this time." example:"42" rules:"minimum=0"`
	Failed        uint64                `json:"failed" doc:"Delivery attempts that failed in this time." example:"0" rules:"minimum=0"`
	OldestPending int64                 `json:"oldestPendingSeconds" doc:"Age of the oldest event pending delivery; 0 when there is none." example:"0" rules:"minimum=0"`
	FileBytes     int64                 `json:"fileBytes" doc:"Size of the data file." example:"16805888" rules:"minimum=0"`
	MemoryBytes   int64                 `json:"memoryBytes" doc:"Memory obtained from the system, without the mapped data file." example:"52428800" rules:"minimum=0"`
}

// listSamples answers with the samples of the last day, or of 30 days by hour, or those since a time.
func (a *API) listSamples(c *rest.Call) error {
	q, err := c.Query([]string{"since", "interval"})
	if err != nil {
		return err
	}
	at, err := rest.ParseTime("since", q.Get("since"))
	if err != nil {
		return err
	}
	period, err := periodOf(q)
	if err != nil {
		return err
	}
	out := SampleList{Interval: int(period / time.Second), Samples: []MinuteShown{}}
	if a.Backups != nil {
		out.Backup = showBackups(a.Backups())
	}
	if a.Samples != nil {
		for _, s := range a.Samples.Since(period, at) {
			out.Samples = append(out.Samples, ShowMinute(s))
		}
	}
	return c.Response.JSON(http.StatusOK, out)
}

// periodOf returns the period that the parameter interval names, in seconds.
func periodOf(q url.Values) (time.Duration, error) {
	if !q.Has("interval") {
		return samples.Minute, nil
	}
	for _, period := range []time.Duration{samples.Minute, samples.Hour} {
		if q.Get("interval") == strconv.Itoa(int(period/time.Second)) {
			return period, nil
		}
	}
	return 0, rest.InvalidQuery("interval must be 60, for a day of minutes, or 3600, for 30 days of hours")
}

func showBackups(s backup.State) *BackupState {
	out := &BackupState{Every: int64(s.Every / time.Second), LastAt: event.AtPtr(s.Last), Bytes: event.OrNull(s.Bytes), FailedAt: event.AtPtr(s.FailedAt)}
	if s.Failed != nil {
		out.Failure = event.OrNull(s.Failed.Error())
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
