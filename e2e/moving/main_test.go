// Package moving takes accounts over from programs on the client library's own store,
// and from Baileys' files, with the real program: what was paired and chatting there
// goes on chatting here.
package moving

import (
	"testing"

	"postern/e2e/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
