package batch

import (
	"slices"
	"strings"

	"postern/batch/record"
)

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
