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
	maxBlock    = 64 << 20 // bytes that ffmpeg asks for at once: a picture of 8K has 50 MB
	maxSaid     = 4 << 10  // bytes of what ffmpeg tells
	maxToldLine = 200      // bytes of it that an error repeats
	dyingTime   = time.Second
)

// ffmpeg runs the program on local files only: without a shell, without what
// the environment holds of this program, and for at most limit, of a processor too.
// It waits for its instance's turn as long as ctx lasts.
func (l *Library) ffmpeg(ctx context.Context, instance int64, limit time.Duration, args ...string) error {
	leave, err := l.converting.take(ctx, instance)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// If this program is killed, nobody but ffmpeg itself ends a hostile file.
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
	return fmt.Errorf("ffmpeg: %w: %.*s", err, maxToldLine, line)
}

// bareEnvironment is what a program needs to start. The secrets of this one may
// be in the rest.
func bareEnvironment() []string {
	env := []string{}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "SystemRoot"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// beginning keeps the first bytes that are written to it.
type beginning struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *beginning) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), maxSaid-b.Len())])
	return len(p), nil
}
