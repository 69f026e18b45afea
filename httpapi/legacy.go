package httpapi

import (
	"fmt"
	"strings"
)

// Programs that were written for older gateways of this family send what those
// ignored. On the paths that only such programs use, a field that is unknown
// here is ignored too, and the answer names it.

// Bounds of the header that names what was ignored: the names are the caller's.
const (
	maxIgnored     = 20 // names
	maxIgnoredName = 64 // bytes of one
)

// ignoredFields are the names of the fields that a body has and the route does
// not know.
type ignoredFields struct {
	names []string
	more  int // beyond maxIgnored
}

func (f *ignoredFields) add(path ...string) {
	if len(f.names) == maxIgnored {
		f.more++
		return
	}
	name := strings.Join(path, ".")
	f.names = append(f.names, name[:min(len(name), maxIgnoredName)])
}

// header is the value of a Warning header, RFC 7234: the names, with whatever
// could end the header or hide in it escaped.
func (f *ignoredFields) header() string {
	text := fmt.Sprintf("%+q", "ignored unknown fields: "+strings.Join(f.names, ", "))
	if f.more > 0 {
		text = strings.TrimSuffix(text, `"`) + fmt.Sprintf(` and %d more"`, f.more)
	}
	return "299 - " + text
}

// reading is how the JSON of a request is read.
func (c *call) reading() reading {
	how := reading{most: unbounded}
	if c.w.legacy {
		how.ignored = &ignoredFields{}
	}
	return how
}

// warn tells the caller which fields had no effect.
func (c *call) warn(f *ignoredFields) {
	if f != nil && len(f.names) > 0 {
		c.w.Header().Add("Warning", f.header())
	}
}
