package store

import (
	"errors"
	"fmt"
	"os"
)

// Report is what Check found.
type Report struct {
	Buckets int   `json:"buckets"`
	Records int   `json:"records"` // without the store's own notes
	Bytes   int64 `json:"bytes"`
	// Faults are what is damaged, what it costs, and whether a start puts it
	// right, for people; none in a whole file.
	Faults []string `json:"faults"`
}

// Check reads the file at path and changes nothing: its pages, the checksum of
// every record, and what the buckets are to hold. buckets are those of all
// packages but store, as for Open. The errors are those of Open that tell that
// the file cannot be looked at: ErrLocked while a program runs on it,
// ErrForeign, ErrNewer.
func Check(path string, buckets []Bucket) (Report, error) {
	sch, err := newSchema(buckets)
	if err != nil {
		return Report{}, err
	}
	f, err := lockShared(path)
	if err != nil {
		return Report{}, fmt.Errorf("check %s: %w", path, explain(err))
	}
	defer f.Close()
	r, err := check(f, sch)
	if err != nil {
		return r, fmt.Errorf("check %s: %w", path, err)
	}
	return r, nil
}

func check(f *os.File, sch schema) (r Report, err error) {
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
	bytes := r.Bytes
	r = found.report(sch)
	r.Bytes = bytes
	return r, nil
}

// report is all that was found, but for the size of the file.
func (s *survey) report(sch schema) (r Report) {
	r.Buckets = len(s.buckets)
	for name, t := range s.buckets {
		if name != metaBucket.Name {
			r.Records += int(t.rows)
		}
	}
	r.Faults = s.tell(sch)
	return r
}

const putRight = "; the next start puts it right"

// tell lists all that is wrong.
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
