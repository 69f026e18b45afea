package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"postern/store/files"
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
func Check(ctx context.Context, path string, buckets []Bucket) (Report, error) {
	sch, err := newSchema(buckets)
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

func check(ctx context.Context, f *os.File, sch schema) (r Report, err error) {
	info, err := f.Stat()
	if err != nil {
		return r, err
	}
	r.Bytes = info.Size()
	found, err := readSurvey(f, info.Size())
	if err = explain(err); errors.Is(err, ErrCorrupt) {
		r.Faults = append(r.Faults, err.Error()+", which costs everything")
		return r, nil
	}
	if err == nil {
		err = found.identify(sch)
	}
	if err != nil {
		return r, err
	}
	data, done := files.Map(f, info.Size())
	defer done()
	r, err = found.report(ctx, data, sch)
	r.Bytes = info.Size()
	return r, err
}

// report returns everything found in the file that data reads, except its size.
func (s *survey) report(ctx context.Context, data io.ReaderAt, sch schema) (r Report, err error) {
	r.Buckets = len(s.buckets)
	for name, t := range s.buckets {
		if name != metaBucket.Name {
			r.Records += int(t.rows)
		}
	}
	r.Faults = s.tell(sch)
	if len(s.faults) > 0 {
		return r, nil
	}
	more, err := lacks(ctx, data, int64(s.file.Pages())*int64(s.file.PageSize()), sch)
	r.Faults = append(r.Faults, more...)
	return r, err
}

const putRight = "; the next start puts it right"

// tell lists all faults.
func (s *survey) tell(sch schema) (all []string) {
	if len(s.file.Mends) > 0 {
		all = append(all, "a head page has a flipped bit"+putRight)
	}
	if s.file.HeadLost {
		all = append(all, "a head page cannot be read, which costs the last commit if it was the newer one")
	}
	for _, f := range s.faults {
		text := f.Error()
		if cost := f.Cost(); cost != "" {
			text += ", which costs " + cost
		}
		if f.Mend != nil {
			text += putRight
		}
		all = append(all, text)
	}
	for _, d := range s.damaged {
		text := fmt.Sprintf("record %s is damaged (%s)", d, sch[d.Bucket].Value)
		if d.mend != nil {
			text += putRight
		} else {
			text += "; the next start sets it aside"
		}
		all = append(all, text)
	}
	for _, err := range s.judgeAll(sch) {
		all = append(all, err.Error())
	}
	return all
}
