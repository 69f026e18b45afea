package media

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"postern/event"
)

// maxWork bounds the processor time for inspecting one file, twice that of the largest
// photograph on a slow machine. It is checked between reads; the work on one read is
// bounded by maxBlocks and maxPicture.
const maxWork = 3 * time.Second

var errWork = fmt.Errorf("reading it takes more than %s of processor time", maxWork)

// meter is a file that fails once its caller is gone or the work on it has taken too
// long.
type meter struct {
	*os.File
	ctx   context.Context // of one look
	spent func() time.Duration
}

// Read implements io.Reader.
func (m *meter) Read(p []byte) (int, error) {
	if err := m.check(); err != nil {
		return 0, err
	}
	return m.File.Read(p)
}

// ReadAt implements io.ReaderAt.
func (m *meter) ReadAt(p []byte, off int64) (int, error) {
	if err := m.check(); err != nil {
		return 0, err
	}
	return m.File.ReadAt(p, off)
}

func (m *meter) check() error {
	switch {
	case m.ctx.Err() != nil:
		return late(m.ctx)
	case m.spent() > maxWork:
		return fmt.Errorf("%w: %w", event.ErrMedia, errWork)
	}
	return nil
}

// look runs use on a file in the turn of an instance. All untrusted files are read
// through it.
func (l *Library) look(ctx context.Context, instance int64, path string, use func(*meter) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("media: %w", err)
	}
	defer func() { _ = file.Close() }()
	leave, err := l.looking.take(ctx, instance)
	if err != nil {
		return err
	}
	defer leave()
	runtime.LockOSThread() // whose time is measured
	defer runtime.UnlockOSThread()
	return use(&meter{file, ctx, stopwatch()})
}

var errLate = errors.New("it could not be prepared in time")

func late(ctx context.Context) error {
	return fmt.Errorf("%w: %w: %w", event.ErrMedia, errLate, context.Cause(ctx))
}
