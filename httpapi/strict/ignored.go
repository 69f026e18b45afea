package strict

import "strings"

// Limits of the kept names of unknown fields, which the caller controls.
const (
	MaxIgnored     = 20 // names
	MaxIgnoredName = 64 // bytes of one
)

// Ignored holds the names of the unknown fields in a body, for a reader that ignores them. The zero value
// is ready to use.
type Ignored struct {
	Names []string // the first MaxIgnored, with dots between a field and the one in it
	More  int      // how many there were after them
}

// Add adds a field by its name and the names of the fields around it.
func (f *Ignored) Add(path ...string) {
	if len(f.Names) == MaxIgnored {
		f.More++
		return
	}
	name := strings.Join(path, ".")
	f.Names = append(f.Names, name[:min(len(name), MaxIgnoredName)])
}
