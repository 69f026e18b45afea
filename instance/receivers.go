package instance

import (
	"encoding/json"
	"slices"
	"strings"

	"postern/store"
)

// Receiver is where the events of an instance go.
type Receiver struct {
	Instance string
	URL      string // of its webhook; empty for none, or one that is not enabled
}

// Receivers are the instances in a data file that no program has open, by their names,
// with their webhooks. Records that cannot be read are left out. buckets and errors are
// those of store.LookInto.
func Receivers(path string, buckets []store.Bucket) (all []Receiver, err error) {
	urls := map[int64]string{}
	err = store.LookInto(path, buckets, webhooks, func(_, v []byte) error {
		var hook Webhook
		if json.Unmarshal(v, &hook) == nil && hook.Enabled {
			urls[hook.InstanceID] = hook.URL
		}
		return nil
	})
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
