package record

// listedVersion begins the row of a batch in its owner's index. Rows of earlier
// releases are empty until they are counted.
const listedVersion = 1

// maxListed bounds how many instances a row has: of a batch with more, filters read the
// batch itself.
const maxListed = 16

// EncodeRow returns the fields that filters of lists need, so that they read no
// other record: creation time, name, instances.
func EncodeRow(s *Spec) []byte {
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

// Row is a decoded row; its texts point into the row.
type Row struct {
	CreatedAt int64
	Name      []byte
	rest      decoder
	instances int // -1: the row does not tell
}

// DecodeRow reads a row; ok is false for one that is empty, as rows of earlier releases are, or damaged.
func DecodeRow(raw []byte) (l Row, ok bool) {
	d := decoder{rest: raw}
	d.version(listedVersion)
	l.CreatedAt, l.Name = d.number(), d.bytes()
	l.instances, l.rest = int(d.number()), d
	return l, !d.bad && l.instances <= len(d.rest)
}

// Refs returns the instances of a row that lists them.
func (l Row) Refs() (refs []InstanceRef, ok bool) {
	d := l.rest
	for range l.instances {
		refs = append(refs, InstanceRef{ID: d.number(), Name: d.text()})
	}
	return refs, l.instances >= 0 && d.end("row") == nil
}
