// Package pagestest looks at data files in tests, without bbolt, which would end
// the process at a damaged page.
package pagestest

import (
	"errors"
	"os"

	"postern/store/pages"
)

// Check reads all pages of a file. Its error joins what is wrong with them.
func Check(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	file, err := pages.Open(f, info.Size())
	if err != nil {
		return err
	}
	faults, err := file.Walk(pages.Visitor{
		Bucket: func(string, uint64) error { return nil },
		Record: func(pages.Record) error { return nil },
	})
	for _, fault := range faults {
		err = errors.Join(err, fault)
	}
	return err
}
