package batch

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"postern/batch/mailing"
	"postern/batch/paging"
	"postern/batch/record"
	"postern/batch/table"
	"postern/event"
)

// Page selects a part of a list.
type Page = paging.Page

// List is one page of a list.
type List[T any] = paging.List[T]

// Filter selects batches. Zero fields select all.
type Filter struct {
	Status       []event.BatchStatus
	InstanceName string
	CreatedFrom  time.Time // inclusive
	CreatedTo    time.Time // inclusive
	Name         string    // exact
	Query        string    // part of the name, whatever its case
	// Opens reports whether an instance may be shown: see Shown. nil: all may.
	Opens func(instance int64) bool
}

// ItemFilter selects items, or attempts by their item's recipient. Zero fields
// select all.
type ItemFilter struct {
	Status       []string // ItemStatus or AttemptStatus
	Recipient    string   // part of the recipient, as given or normalised
	InstanceName string

	digits string // Recipient normalised
}

func (f ItemFilter) empty() bool {
	return len(f.Status) == 0 && f.Recipient == "" && f.InstanceName == ""
}

// totalOf returns how many items f selects, if the counts of the batch suffice.
func (f ItemFilter) totalOf(c table.Counts) int {
	switch {
	case f.empty():
		return c.Total
	case f.Recipient != "" || f.InstanceName != "":
		return paging.UnknownTotal
	}
	n := 0
	for status, count := range map[record.ItemStatus]int{
		record.ItemPending: c.Pending, record.ItemSending: c.Sending, record.ItemSuccess: c.Success,
		record.ItemFailed: c.Failed, record.ItemSkipped: c.Skipped, record.ItemUnknown: c.Unknown,
	} {
		if slices.Contains(f.Status, string(status)) {
			n += count
		}
	}
	return n
}

func (f ItemFilter) holds(status, instance string, r record.Item) bool {
	return (len(f.Status) == 0 || slices.Contains(f.Status, status)) &&
		(f.InstanceName == "" || f.InstanceName == instance) &&
		(f.Recipient == "" || f.names(r))
}

// names reports whether the recipient of r is, or holds, the one asked for,
// however either is written.
func (f ItemFilter) names(r record.Item) bool {
	return strings.Contains(r.Input, f.Recipient) || strings.Contains(r.To, f.Recipient) ||
		f.digits != "" && strings.Contains(r.Recipient(), f.digits)
}

// normalised returns f for the many calls of holds of one list.
func (f ItemFilter) normalised() ItemFilter {
	f.digits, _ = mailing.Phone(f.Recipient) // empty unless it is a whole number
	return f
}

func (f Filter) empty() bool {
	return len(f.Status) == 0 && f.InstanceName == "" && f.CreatedFrom.IsZero() && f.CreatedTo.IsZero() &&
		f.Name == "" && f.Query == "" && f.Opens == nil
}

// longestName is the maximum number of bytes in a name. A longer text, which may be
// a megabyte, cannot be in a name.
const longestName = utf8.UTFMax * MaxName

// wanted is a filter prepared for the many rows of one list.
type wanted struct {
	Filter
	folded string // Query in lower case
	long   bool   // no name is as long as Query
}

func (f Filter) wanted() wanted {
	w := wanted{Filter: f, long: len(f.Query) > longestName}
	if !w.long {
		w.folded = strings.ToLower(f.Query)
	}
	return w
}

// byStatusOnly reports whether f selects by status only.
func (f Filter) byStatusOnly() bool {
	f.Status = nil
	return f.empty()
}

// row evaluates all but the status by a row of the owner's index; known is false when
// the row is insufficient.
func (w *wanted) row(raw []byte) (fits, known bool) {
	if w.byStatusOnly() {
		return true, true
	}
	l, ok := record.DecodeRow(raw)
	if !ok {
		return false, false
	}
	s := record.Spec{CreatedAt: l.CreatedAt}
	if w.Name != "" || w.Query != "" {
		s.Name = string(l.Name)
	}
	if w.InstanceName != "" || w.Opens != nil {
		if s.Instances, ok = l.Refs(); !ok {
			return false, false
		}
	}
	return w.selects(&s), true
}

// selects reports whether the batch fits all but the status.
func (w *wanted) selects(s *record.Spec) bool {
	open := func(ref record.InstanceRef) bool { return w.Opens == nil || w.Opens(ref.ID) }
	named := func(ref record.InstanceRef) bool { return ref.Name == w.InstanceName && open(ref) }
	created := milli(s.CreatedAt)
	return (w.InstanceName == "" || slices.ContainsFunc(s.Instances, named)) &&
		(w.CreatedFrom.IsZero() || !created.Before(w.CreatedFrom)) &&
		(w.CreatedTo.IsZero() || !created.After(w.CreatedTo)) &&
		(w.Name == "" || s.Name == w.Name) &&
		(w.Opens == nil || slices.ContainsFunc(s.Instances, open)) &&
		(w.Query == "" || !w.long && strings.Contains(strings.ToLower(s.Name), w.folded))
}
