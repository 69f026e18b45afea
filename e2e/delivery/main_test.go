// Package delivery holds the page of the same name against the whole program: events
// that come from a simulated phone arrive at receivers of all kinds, and the log tells
// what became of each.
package delivery

import (
	"testing"

	"postern/e2e/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
