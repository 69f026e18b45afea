package s3

import (
	"testing"

	"postern/e2e/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
