// Package soak has no code of its own: its test runs the real program for hours
// and looks at what it holds. `make soak` does.
package soak

import (
	"testing"

	"postern/e2e/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
