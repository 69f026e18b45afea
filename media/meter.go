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

// maxWork bounds the time on a processor that looking at one file takes, twice
// what the largest photograph needs on a slow machine. It is counted between
// reads; what a decoder does with the bytes of one read is bounded before, see
// maxBlocks and maxPicture.
const maxWork = 3 * time.Second

var errWork = fmt.Errorf("it takes more than %s of a processor to read", maxWork)

// meter is a file whose reading ends when nobody waits for it any more, or when
// what is done with it has taken too long.
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

// look lets use read a file in the turn of an instance. Nothing else reads what
// strangers made.
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
	runtime.LockOSThread() // whose time is counted
	defer runtime.UnlockOSThread()
	return use(&meter{file, ctx, stopwatch()})
}

var errLate = errors.New("it could not be prepared in time")

func late(ctx context.Context) error {
	return fmt.Errorf("%w: %w: %w", event.ErrMedia, errLate, context.Cause(ctx))
}
