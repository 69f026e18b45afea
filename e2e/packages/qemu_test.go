package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postern/e2e/capture"
)

// TestTheProgramRunsOnOtherProcessors: it starts, serves and stops in order, with the
// simulated network beside it.
func TestTheProgramRunsOnOtherProcessors(t *testing.T) {
	for platform, names := range map[string][]string{
		"linux/arm64": {"qemu-aarch64", "qemu-aarch64-static"},
		"linux/armv7": {"qemu-arm", "qemu-arm-static"},
	} {
		t.Run(platform, func(t *testing.T) {
			wanted(t)
			var emulator string
			for _, name := range names {
				if path, err := exec.LookPath(name); err == nil {
					emulator = path
				}
			}
			if emulator == "" {
				t.Skipf("%s is not here (package qemu-user)", names[0])
			}
			program := unpacked(t, built(t, copyOfSource(t, "first"), older, platform), strings.Replace(platform, "/", "_", 1))
			if out := run(t, folder, emulator, program, "version"); !strings.HasPrefix(out, "postern "+older+" (commit 0") {
				t.Error(out)
			}
			data, addr, said := t.TempDir(), freeAddress(t), &capture.Buffer{}
			cmd := exec.CommandContext(t.Context(), emulator, program, "serve")
			cmd.Dir, cmd.Stdout, cmd.Stderr = data, said, said
			cmd.Env = append(os.Environ(), "SANDBOX_ENABLED=true", "SERVER_LISTEN="+addr, "STORE_PATH="+filepath.Join(data, "postern.db"))
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			await(t, addr, 2*time.Minute, said)
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v\n%s", err, said)
			}
		})
	}
}
