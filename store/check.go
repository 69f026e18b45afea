package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"postern/store/files"
	"postern/store/schema"
	"postern/store/survey"
)

// Report is what Check found.
type Report struct {
	Buckets int   `json:"buckets" doc:"The number of buckets." example:"62"`
	Records int   `json:"records" doc:"The number of records, without the store's internal ones." example:"1042"`
	Bytes   int64 `json:"bytes" doc:"The size of the file, in bytes." example:"16805888"`
	// Faults says, in sentences, what is damaged, what it costs, and whether a start
	// repairs it. It is empty for a whole file.
	Faults []string `json:"faults" doc:"The faults, each with its effect and whether a start repairs it; empty when there is none." example:""`
}

// Check reads the file at path and changes nothing. It verifies the pages, the checksum
// of every record, the contents of the buckets and, if all pages can be read, what
// records need of each other (Bucket.Needs). Its memory does not grow with the file.
// buckets are those of all packages but store, as for Open. The errors are those of Open
// for a file that cannot be examined: ErrLocked while a program has it open, ErrForeign,
// ErrNewer.
func Check(ctx context.Context, path string, buckets []schema.Bucket) (Report, error) {
	sch, err := withOwn(buckets)
	if err != nil {
		return Report{}, err
	}
	f, err := lockShared(path)
	if err != nil {
		return Report{}, fmt.Errorf("check %s: %w", path, explain(err))
	}
	defer f.Close()
	r, err := check(ctx, f, sch)
	if err != nil {
		return r, fmt.Errorf("check %s: %w", path, err)
	}
	return r, nil
}

func check(ctx context.Context, f *os.File, sch schema.Schema) (r Report, err error) {
	info, err := f.Stat()
	if err != nil {
		return r, err
	}
	r.Bytes = info.Size()
	found, err := survey.Read(f, info.Size())
	if err = explain(err); errors.Is(err, ErrCorrupt) {
		r.Faults = append(r.Faults, err.Error()+", which costs everything")
		return r, nil
	}
	if err == nil {
		err = found.Identify(sch)
	}
	if err != nil {
		return r, err
	}
	data, done := files.Map(f, info.Size())
	defer done()
	r, err = report(ctx, found, data, sch)
	r.Bytes = info.Size()
	return r, err
}

// report returns everything found in the file that data reads, except its size.
func report(ctx context.Context, found *survey.Survey, data io.ReaderAt, sch schema.Schema) (r Report, err error) {
	r.Buckets = len(found.Buckets)
	for name, t := range found.Buckets {
		if name != schema.Meta.Name {
			r.Records += int(t.Rows)
		}
	}
	r.Faults = found.Report(sch)
	if len(found.Faults) > 0 {
		return r, nil
	}
	more, err := sch.Lacks(ctx, data, int64(found.File.Pages())*int64(found.File.PageSize()))
	r.Faults = append(r.Faults, more...)
	return r, explain(err)
}
