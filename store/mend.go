package store

import (
	"fmt"
	"os"

	"postern/store/schema"
	"postern/store/survey"
)

// maxPasses bounds how often the file is mended and surveyed again: first head pages and
// records, then the branches above them.
const maxPasses = 3

// surveyed reads the file and decides whether it may be opened. It first repairs the
// flipped bits that are known with certainty. Each repair writes one byte, so that a
// crash in between causes no new damage.
func surveyed(f *os.File, sch schema.Schema) (*survey.Survey, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%w (it is a folder)", ErrForeign)
	case info.Size() == 0:
		return nil, fmt.Errorf("%w (it is empty)", ErrForeign)
	}
	if found := unread(f, info.Size(), sch); found != nil {
		return found, nil
	}
	var mended []string
	for range maxPasses {
		found, err := survey.Read(f, info.Size())
		if err != nil {
			return nil, err
		}
		found.Mended = mended
		if err := found.Identify(sch); err != nil {
			return nil, err
		}
		what, mends := found.Mends()
		if len(mends) == 0 {
			if err := found.Judge(sch); err != nil {
				return nil, err
			}
			return found, found.DropList(f)
		}
		for _, m := range mends {
			if _, err := f.WriteAt([]byte{m.Byte}, m.Offset); err != nil {
				return nil, fmt.Errorf("put a flipped bit right: %w", err)
			}
		}
		if err := f.Sync(); err != nil {
			return nil, fmt.Errorf("put a flipped bit right: %w", err)
		}
		mended = append(mended, what...)
	}
	return nil, fmt.Errorf("%w: flipped bits cannot be put right, they come back", ErrCorrupt)
}
