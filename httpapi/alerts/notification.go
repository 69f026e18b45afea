package alerts

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"postern/event"
)

// MaxAlerts is the maximum number of alerts in a post. Alertmanager's max_alerts limits them.
const MaxAlerts = 2000

// Notification is the body of a post, reduced to the fields in use: alerts, or a title or message.
type Notification struct {
	Status      string             `json:"status" doc:"The status of alerts without their own, and of a title or message with a fingerprint." example:"firing"`
	Alerts      []Alert            `json:"alerts"`
	GroupLabels map[string]*string `json:"groupLabels"`
	Truncated   int64              `json:"truncatedAlerts" doc:"How many alerts the sender left out." example:"0"`

	Title   string `json:"title" doc:"A title, where there are no alerts." example:"Backup"`
	Message string `json:"message" doc:"A message, where there are no alerts." example:"The backup of tonight failed."`
	Msg     string `json:"msg" doc:"The message, as Uptime Kuma calls it." example:"[Shop] [🔴 Down] timeout"`

	// Of a title and message that is sent only once.
	Fingerprint string `json:"fingerprint" doc:"Identifies a title or message: with a fingerprint, it is sent once in 24 hours." example:"backup-2026-11-20"`
	StartsAt    string `json:"startsAt" doc:"When it began." example:"$time"`
}

// Alert is one alert of a post. Null values count as missing.
type Alert struct {
	Status      string             `json:"status" doc:"firing or resolved; anything else counts as firing." example:"firing"`
	Labels      map[string]*string `json:"labels"`
	Annotations map[string]*string `json:"annotations"`
	// RFC 3339; anything else is not shown
	StartsAt    string `json:"startsAt" doc:"When it began." example:"$time"`
	EndsAt      string `json:"endsAt" doc:"When a resolved alert ended." example:"$time"`
	Fingerprint string `json:"fingerprint" doc:"Identifies the alert; absent: its labels identify it." example:"c6eadffa33fcdf37"`

	GeneratorURL string `json:"generatorURL" doc:"Its source: shown when there is no better link and it is the only alert." example:"https://prometheus.example.org/graph"`
	DashboardURL string `json:"dashboardURL" doc:"Its dashboard." example:"https://grafana.example.org/d/1"`
	PanelURL     string `json:"panelURL" doc:"Its panel." example:"https://grafana.example.org/d/1?viewPanel=2"`
}

const resolved = "resolved"

// Check refuses a post from which no text can be made, with an error that wraps [event.ErrContent]. It completes a
// post that uses the field names of other programs.
func (n *Notification) Check() error {
	switch {
	case len(n.Alerts) > MaxAlerts:
		return fmt.Errorf("%w: alerts must have at most %d entries; max_alerts of Alertmanager bounds them", event.ErrContent, MaxAlerts)
	case len(n.Alerts) > 0:
		for i := range n.Alerts {
			if a := &n.Alerts[i]; a.Status == "" {
				a.Status = n.Status
			}
		}
		return nil
	}
	if n.Message == "" {
		n.Message = n.Msg
	}
	if clean(n.Title, maxTitle) == "" && cleanLines(n.Message, maxMessage) == "" {
		return fmt.Errorf("%w: give alerts with at least one entry, or title or message with at least one character", event.ErrContent)
	}
	return nil
}

// Mark identifies an alert.
type Mark [16]byte

// Marks returns the marks of a post to a recipient, one for each alert, in order. A title and message has one if it
// has a fingerprint, otherwise none.
func (n *Notification) Marks(to string) (all []Mark) {
	if len(n.Alerts) == 0 && n.Fingerprint != "" {
		return []Mark{markOf(n.Status, n.Fingerprint, n.StartsAt, to)}
	}
	for i := range n.Alerts {
		a := &n.Alerts[i]
		all = append(all, markOf(a.Status, a.fingerprint(), a.StartsAt, to))
	}
	return all
}

func markOf(status, fingerprint, start, to string) Mark {
	if at, ok := instant(start); ok {
		start = at.UTC().Format(time.RFC3339Nano)
	}
	sum := digest(status, fingerprint, start, to)
	return Mark(sum[:])
}

// digest hashes texts so that none can be confused with a part of another.
func digest(parts ...string) [sha256.Size]byte {
	var raw []byte
	for _, part := range parts {
		raw = binary.AppendUvarint(raw, uint64(len(part)))
		raw = append(raw, part...)
	}
	return sha256.Sum256(raw)
}

// fingerprint returns the sender's fingerprint, or one of all labels or, without labels, of the annotations.
func (a *Alert) fingerprint() string {
	if a.Fingerprint != "" {
		return a.Fingerprint
	}
	of := a.Labels
	if len(of) == 0 {
		of = a.Annotations
	}
	var parts []string
	for _, name := range names(of) {
		parts = append(parts, name, *of[name])
	}
	sum := digest(parts...)
	return string(sum[:])
}

// names returns the names with a value, in order.
func names(of map[string]*string) (all []string) {
	for name, value := range of {
		if value != nil {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// instant parses a time; the year 1 means none.
func instant(text string) (at time.Time, ok bool) {
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil && at.Year() > 1
}
