// Package mistakes starts the real program with mistakes of its operator, one after the other,
// and checks that no account, token, batch or pending event is lost.
package mistakes

import (
	"testing"

	"postern/e2e/rig"
)

func TestMain(m *testing.M) { rig.Main(m, rig.ShiftClock) }
