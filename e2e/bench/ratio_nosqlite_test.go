//go:build !sqlite

package bench

import (
	"testing"

	wastore "go.mau.fi/whatsmeow/store"
)

// onSQLite is nil without the tag sqlite: its driver needs a C compiler.
func onSQLite(*testing.B) func(int) *wastore.Device { return nil }
