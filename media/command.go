package media

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const (
	maxBlock     = 64 << 20 // bytes; ffmpeg's largest allocation: a picture of 8K has 50 MB
	maxOutput    = 4 << 10  // bytes of ffmpeg's output kept
	maxErrorLine = 200      // bytes of it repeated in an error
	dyingTime    = time.Second
)

// ffmpeg runs the program on local files only: without a shell, without this program's
// environment, and for at most limit of time and of processor time. It waits for the
// instance's turn until ctx ends.
func (l *Library) ffmpeg(ctx context.Context, instance int64, limit time.Duration, args ...string) error {
	leave, err := l.converting.take(ctx, instance)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// If this program is killed, only ffmpeg's own limit stops a hostile file.
	seconds := strconv.FormatInt(int64(limit/time.Second)+1, 10)
	args = append([]string{
		"-nostdin", "-hide_banner", "-loglevel", "error", "-y", "-timelimit", seconds, "-max_alloc", strconv.Itoa(maxBlock),
		"-protocol_whitelist", "file", "-threads", "1",
	}, args...)
	cmd := exec.CommandContext(ctx, l.cfg.FFmpeg, args...) //nolint:gosec // the operator's program, on a file of ours
	said := &beginning{}
	cmd.Stderr, cmd.Env, cmd.WaitDelay = said, bareEnvironment(), dyingTime
	endTogether(cmd)
	if err = cmd.Run(); err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
	return fmt.Errorf("ffmpeg: %w: %.*s", err, maxErrorLine, line)
}

// bareEnvironment returns the variables that a program needs to start. The others may
// hold secrets.
func bareEnvironment() []string {
	env := []string{}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "SystemRoot"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// beginning keeps the first bytes written to it.
type beginning struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *beginning) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), maxOutput-b.Len())])
	return len(p), nil
}
