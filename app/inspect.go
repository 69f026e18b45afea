package app

import (
	"cmp"
	"maps"
	"slices"

	"postern/httpapi/operator"
	"postern/instance"
	"postern/media/kept"
	"postern/store"
	"postern/store/schema"
)

// Statistics are the contents of a data file, and the kept files by it.
type Statistics = operator.Statistics

// InspectFile returns the statistics of a data file that no program has open. It changes
// nothing. buckets and errors are those of store.Inspect.
func InspectFile(path string, buckets []schema.Bucket) (s Statistics, err error) {
	if s.Inspection, err = store.Inspect(path, buckets); err != nil {
		return s, err
	}
	ids, err := instance.Names(path, buckets)
	if err != nil {
		return s, err
	}
	names := map[int64]string{}
	for name, id := range ids {
		names[id] = name
	}
	usages, err := kept.UsagesIn(path, buckets)
	s.Kept = keptBy(usages, names)
	return s, err
}

// keptFiles returns what each instance keeps of files.
func (a *App) keptFiles() ([]operator.KeptFiles, error) {
	names := map[int64]string{}
	for _, r := range a.registry.List() {
		names[r.ID] = r.Name
	}
	usages, err := a.kept.Usages()
	return keptBy(usages, names), err
}

// keptBy returns the rows of some usages, the largest first.
func keptBy(usages kept.Usages, names map[int64]string) []operator.KeptFiles {
	all := []operator.KeptFiles{}
	for id, u := range usages {
		all = append(all, operator.KeptFiles{Instance: names[id], InstanceID: id, Files: u.Files, Bytes: u.Bytes})
	}
	slices.SortFunc(all, func(a, b operator.KeptFiles) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.InstanceID, b.InstanceID))
	})
	return all
}

// InstanceNames returns the names of the instances in a data file that no program has open.
// buckets and errors are those of store.ScanFile.
func InstanceNames(path string, buckets []schema.Bucket) (names []string, err error) {
	ids, err := instance.Names(path, buckets)
	return slices.Sorted(maps.Keys(ids)), err
}
