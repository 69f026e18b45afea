package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/minio/minio-go/v7"
)

// Reader reads an object. It is for one goroutine, which closes it.
type Reader struct {
	c          *Client
	ctx        context.Context
	name, etag string
	size       int64
	at, end    int64 // of the next read, and of what is expected; 0: to the end

	body io.ReadCloser // of a GET; nil: none
	w    *watcher      // of body
}

// Seek implements io.Seeker.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning of an object")
	}
	if offset != r.at {
		r.drop()
	}
	r.at = offset
	return offset, nil
}

// Expect says that the next n bytes are read and none after them, so that no others are
// requested.
func (r *Reader) Expect(n int64) {
	if r.body == nil {
		r.end = min(r.at+n, r.size)
	}
}

// Read implements io.Reader. The object may not change between two reads.
func (r *Reader) Read(b []byte) (n int, err error) {
	if r.at >= r.size {
		return 0, io.EOF
	}
	if r.body == nil {
		if err := r.get(); err != nil {
			return 0, err
		}
	}
	r.w.busy()
	n, err = r.body.Read(b)
	r.w.idle()
	r.at += int64(n)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF) && (r.at >= r.size || r.at == r.end):
		r.drop()
		if n > 0 || r.at < r.size {
			return n, nil // another read continues
		}
		return 0, io.EOF
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return n, r.c.explain(r.w.ctx, err)
}

// get requests the object from at on.
func (r *Reader) get() error {
	end := r.size
	if r.end > r.at {
		end = r.end
	}
	var o minio.GetObjectOptions
	err := o.SetRange(r.at, end-1)
	if err == nil && r.etag != "" {
		err = o.SetMatchETag(r.etag)
	}
	if err != nil {
		return fmt.Errorf("range of an object: %w", err)
	}
	r.w = watch(r.ctx)
	body, _, _, err := r.c.core.GetObject(r.w.ctx, r.c.cfg.Bucket, r.c.cfg.Prefix+r.name, o)
	if err != nil {
		err = r.c.explain(r.w.ctx, err)
		r.w.stop()
		return err
	}
	r.w.idle()
	r.body = body
	return nil
}

func (r *Reader) drop() {
	r.end = 0
	if r.body != nil {
		r.w.stop()
		_ = r.body.Close()
		r.body = nil
	}
}

// Close implements io.Closer.
func (r *Reader) Close() error {
	r.drop()
	return nil
}

// watcher ends its context when a transfer makes no progress for stallTimeout.
type watcher struct {
	ctx   context.Context
	end   context.CancelCauseFunc
	timer *time.Timer
}

func watch(ctx context.Context) *watcher {
	w := &watcher{}
	w.ctx, w.end = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(stallTimeout, func() { w.end(errStalled) })
	return w
}

func (w *watcher) busy() { w.timer.Reset(stallTimeout) }

// idle stops the clock: the other side of the transfer is the slow one.
func (w *watcher) idle() { w.timer.Stop() }

func (w *watcher) stop() {
	w.timer.Stop()
	w.end(nil)
}

// watched is a body that is sent.
type watched struct {
	*io.SectionReader

	w *watcher
}

// Read implements io.Reader.
func (b *watched) Read(p []byte) (int, error) {
	b.w.busy()
	return b.SectionReader.Read(p)
}
