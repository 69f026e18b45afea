//go:build unix

package media

import (
	"os/exec"
	"syscall"
)

// endTogether makes the program's child processes end with it: the operator's ffmpeg may
// be a script.
func endTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
