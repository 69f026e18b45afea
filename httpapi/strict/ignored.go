package strict

import "strings"

// Limits of the kept names of unknown fields, which the caller controls.
const (
	MaxIgnored     = 20 // names
	MaxIgnoredName = 64 // bytes of one
)

// Ignored are the names of the fields that a body has and its reader does not
// know, for a reader that lets them pass. The zero value is ready.
type Ignored struct {
	Names []string // the first MaxIgnored, with dots between a field and the one in it
	More  int      // how many there were after them
}

// Add notes a field by the names of those around it and its own.
func (f *Ignored) Add(path ...string) {
	if len(f.Names) == MaxIgnored {
		f.More++
		return
	}
	name := strings.Join(path, ".")
	f.Names = append(f.Names, name[:min(len(name), MaxIgnoredName)])
}
