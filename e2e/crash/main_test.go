package crash

import (
	"fmt"
	"os"
	"testing"

	"postern/e2e/rig"
)

func TestMain(m *testing.M) {
	if job := os.Getenv(asFlipper); job != "" {
		if err := flipper(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	rig.Main(m, trapWhenRecorded)
}
