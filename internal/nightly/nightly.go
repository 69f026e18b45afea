// Package nightly has the tests choose between a short form and the full one. Only tests
// import it.
package nightly

import "os"

// Or returns full if the environment has NIGHTLY, as in `make nightly`, else short.
func Or[T any](short, full T) T {
	if os.Getenv("NIGHTLY") != "" {
		return full
	}
	return short
}
