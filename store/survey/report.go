package survey

import (
	"fmt"

	"postern/store/schema"
)

const putRight = "; the next start puts it right"

// Report lists all faults, each with its effect and whether a start repairs it.
func (s *Survey) Report(sch schema.Schema) (all []string) {
	if len(s.File.Mends) > 0 {
		all = append(all, "a head page has a flipped bit"+putRight)
	}
	if s.File.HeadLost {
		all = append(all, "a head page cannot be read, which costs the last commit if it was the newer one")
	}
	for _, f := range s.Faults {
		text := f.Error()
		if cost := f.Cost(); cost != "" {
			text += ", which costs " + cost
		}
		if f.Mend != nil {
			text += putRight
		}
		all = append(all, text)
	}
	for _, d := range s.Damaged {
		text := fmt.Sprintf("record %s is damaged (%s)", d, sch[d.Bucket].Value)
		if d.Mend != nil {
			text += putRight
		} else {
			text += "; the next start sets it aside"
		}
		all = append(all, text)
	}
	for _, err := range s.JudgeBuckets(sch) {
		all = append(all, err.Error())
	}
	return all
}
