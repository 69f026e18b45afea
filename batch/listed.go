package batch

import (
	"slices"
	"strings"
)

// listedVersion begins the row of a batch in its owner's index. Rows of earlier
// releases are empty until they are counted.
const listedVersion = 1

// maxListed bounds how many instances a row has: of a batch with more, filters read the
// batch itself.
const maxListed = 16

// encodeListed returns the fields that filters of lists need, so that they read no
// other record: creation time, name, instances.
func encodeListed(s *spec) []byte {
	raw := make([]byte, 0, 64+len(s.Name))
	raw = appendNumbers(append(raw, listedVersion), s.CreatedAt)
	raw = appendText(raw, s.Name)
	if len(s.Instances) > maxListed {
		return appendNumbers(raw, -1)
	}
	raw = appendNumbers(raw, len(s.Instances))
	for _, ref := range s.Instances {
		raw = appendText(appendNumbers(raw, ref.ID), ref.Name)
	}
	return raw
}

// listed is a decoded row; its texts point into the row.
type listed struct {
	createdAt int64
	name      []byte
	rest      decoder
	instances int // -1: the row does not tell
}

func decodeListed(raw []byte) (l listed, ok bool) {
	d := decoder{rest: raw}
	d.version(listedVersion)
	l.createdAt, l.name = d.number(), d.bytes()
	l.instances, l.rest = int(d.number()), d
	return l, !d.bad && l.instances <= len(d.rest)
}

// refs returns the instances of a row that lists them.
func (l listed) refs() (refs []InstanceRef, ok bool) {
	d := l.rest
	for range l.instances {
		refs = append(refs, InstanceRef{ID: d.number(), Name: d.text()})
	}
	return refs, l.instances >= 0 && d.end("row") == nil
}

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
	l, ok := decodeListed(raw)
	if !ok {
		return false, false
	}
	s := spec{CreatedAt: l.createdAt}
	if w.Name != "" || w.Query != "" {
		s.Name = string(l.name)
	}
	if w.InstanceName != "" || w.Opens != nil {
		if s.Instances, ok = l.refs(); !ok {
			return false, false
		}
	}
	return w.selects(&s), true
}

// selects reports whether the batch fits all but the status.
func (w *wanted) selects(s *spec) bool {
	open := func(ref InstanceRef) bool { return w.Opens == nil || w.Opens(ref.ID) }
	named := func(ref InstanceRef) bool { return ref.Name == w.InstanceName && open(ref) }
	created := milli(s.CreatedAt)
	return (w.InstanceName == "" || slices.ContainsFunc(s.Instances, named)) &&
		(w.CreatedFrom.IsZero() || !created.Before(w.CreatedFrom)) &&
		(w.CreatedTo.IsZero() || !created.After(w.CreatedTo)) &&
		(w.Name == "" || s.Name == w.Name) &&
		(w.Opens == nil || slices.ContainsFunc(s.Instances, open)) &&
		(w.Query == "" || !w.long && strings.Contains(strings.ToLower(s.Name), w.folded))
}
