package instance

import (
	"slices"
	"strings"

	"postern/instance/webhooks"
	"postern/store/schema"
)

// Receiver is the receiver of an instance's events.
type Receiver struct {
	Instance string
	URL      string // of its webhook; empty if none or disabled
}

// Receivers returns the instances in a data file that no program has open, by name, with
// their webhooks. It skips unreadable records. buckets and errors are those of
// store.ScanFile.
func Receivers(path string, buckets []schema.Bucket) (all []Receiver, err error) {
	urls, err := webhooks.URLs(path, buckets)
	if err != nil {
		return nil, err
	}
	names, err := Names(path, buckets)
	for name, id := range names {
		all = append(all, Receiver{name, urls[id]})
	}
	slices.SortFunc(all, func(a, b Receiver) int { return strings.Compare(a.Instance, b.Instance) })
	return all, err
}
