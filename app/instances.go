package app

import (
	"maps"
	"slices"

	"postern/instance"
	"postern/store/schema"
)

// InstanceNames returns the names of the instances in a data file that no program has open.
// buckets and errors are those of store.ScanFile.
func InstanceNames(path string, buckets []schema.Bucket) (names []string, err error) {
	ids, err := instance.Names(path, buckets)
	return slices.Sorted(maps.Keys(ids)), err
}
