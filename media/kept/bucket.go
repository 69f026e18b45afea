package kept

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"postern/media/cache"
	"postern/media/kept/s3"
)

const (
	listPage   = 1000            // objects of one request
	restFor    = 5 * time.Second // after a failure the server is not asked
	youngFor   = time.Hour       // an object without a record may still get one from another owner of the data
	sweepEvery = 24 * time.Hour
)

var errYoung = errors.New("the object is younger than an hour")

// objectName is what the names of kept files look like. Nothing else in a bucket is removed.
var objectName = regexp.MustCompile(`^([1-9][0-9]{0,18})/([1-9][0-9]{0,18})$`)

// bucket is a place at an S3 server.
type bucket struct {
	client *s3.Client
	id     string // of the data file
	spool  func() (*os.File, error)
	log    *slog.Logger

	claiming sync.Mutex // held while the bucket is claimed

	mu       sync.Mutex
	own      bool      // the mark under the prefix is that of the data file
	judged   bool      // a request has succeeded
	trouble  string    // of the last request; empty: none
	failedAt time.Time // of the last request; zero: it succeeded
}

func nameOf(key cache.Key) string {
	return strconv.FormatInt(key.Instance, 10) + "/" + strconv.FormatInt(key.Message, 10)
}

func keyOf(name string) (key cache.Key, ok bool) {
	parts := objectName.FindStringSubmatch(name)
	if parts == nil {
		return key, false
	}
	instance, err := strconv.ParseInt(parts[1], 10, 64)
	message, err2 := strconv.ParseInt(parts[2], 10, 64)
	return cache.Key{Instance: instance, Message: message}, err == nil && err2 == nil
}

func (b *bucket) setting() string { return "media.store.s3" }

func (b *bucket) warning() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.trouble == "" {
		return ""
	}
	return "files of messages cannot be kept in S3: the log says why"
}

// judge notes the outcome of a request, and logs each change of it.
func (b *bucket) judge(err error) error {
	if errors.Is(err, context.Canceled) {
		return err // the program stops, or a client left
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		if b.trouble != "" || !b.judged {
			b.log.Info("files are kept in S3", "bucket", b.client.String())
			if off, known := b.client.ClockOff(); known && off.Abs() >= time.Minute {
				b.log.Warn("the clock of this machine differs from that of the S3 server, which refuses requests from 15 minutes on; set both clocks by NTP", "ahead", off)
			}
		}
		b.judged, b.trouble, b.failedAt = true, "", time.Time{}
		return nil
	}
	b.failedAt = time.Now()
	if err.Error() == b.trouble {
		return err
	}
	b.trouble = err.Error()
	if errors.Is(err, s3.ErrRefused) || errors.Is(err, errForeign) {
		b.log.Error("files cannot be kept in S3; trying again", "bucket", b.client.String(), "error", err)
	} else {
		b.log.Warn("files cannot be kept in S3; trying again", "bucket", b.client.String(), "error", err)
	}
	return err
}

// known returns whether files can be put without a request: that is so after a success, and
// for a moment after a failure.
func (b *bucket) known() (known bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.trouble != "" && time.Since(b.failedAt) < restFor {
		return true, fmt.Errorf("%w a moment ago: %s", s3.ErrFailed, b.trouble)
	}
	return b.own && b.trouble == "", nil
}

// ready claims the prefix, and asks a server that failed before whether it works again.
func (b *bucket) ready(ctx context.Context) error {
	if known, err := b.known(); known {
		return err
	}
	b.claiming.Lock()
	defer b.claiming.Unlock()
	if known, err := b.known(); known { // another call has asked meanwhile
		return err
	}
	err := b.judge(b.claim(ctx))
	b.mu.Lock()
	b.own = err == nil
	b.mu.Unlock()
	return err
}

// claim finds out whether the prefix is the data file's own, and makes an empty one so: see
// markName.
func (b *bucket) claim(ctx context.Context) error {
	for range 2 {
		mark, found, err := b.client.Text(ctx, markName)
		switch {
		case err != nil:
			return err
		case found && strings.TrimSpace(mark) == b.id:
			return nil
		case found:
			return errOwned()
		}
		for after := ""; ; {
			page, err := b.client.List(ctx, "", after, listPage)
			if err != nil {
				return err
			}
			for _, o := range page {
				if _, ours := keyOf(o.Name); ours {
					return fmt.Errorf("media.store.s3.prefix: %w, or of one that is unknown, since there is no object %s; choose an empty prefix", errForeign, markName)
				}
				after = o.Name
			}
			if len(page) < listPage {
				break
			}
		}
		if err := b.client.PutText(ctx, markName, b.id+"\n"); err != nil {
			return err
		} // and read it: another program may have written its own
	}
	return fmt.Errorf("%w: the object %s is not there after it was written", s3.ErrFailed, markName)
}

// CheckBucket reports why files cannot be kept in a bucket. It writes nothing. id is that of
// the data file; empty: it is not known.
func CheckBucket(ctx context.Context, client *s3.Client, id string) error {
	mark, found, err := client.Text(ctx, markName)
	switch {
	case err != nil:
		return err
	case found && id != "" && strings.TrimSpace(mark) != id:
		return errOwned()
	}
	_, err = client.List(ctx, "", "", 1)
	return err
}

func errOwned() error {
	return fmt.Errorf("media.store.s3.prefix: %w; give each program a prefix of its own", errForeign)
}

func (b *bucket) create(cache.Key) (*os.File, error) { return b.spool() }

func (b *bucket) put(ctx context.Context, key cache.Key, from *os.File, size int64, sha [32]byte) error {
	if err := b.ready(ctx); err != nil {
		return err
	}
	return b.judge(b.client.Put(ctx, nameOf(key), from, size, sha))
}

func (b *bucket) open(ctx context.Context, key cache.Key, size int64) (io.ReadSeekCloser, error) {
	if err := b.ready(ctx); err != nil {
		return nil, err
	}
	r, found, err := b.client.Open(ctx, nameOf(key), size)
	if err = b.judge(err); err != nil {
		return nil, err
	}
	if !found {
		return nil, errNone
	}
	return r, nil
}

func (b *bucket) remove(ctx context.Context, key cache.Key) error {
	if err := b.ready(ctx); err != nil {
		return unlessForeign(err)
	}
	return b.judge(b.client.Remove(ctx, nameOf(key)))
}

func unlessForeign(err error) error {
	if errors.Is(err, errForeign) {
		return nil
	}
	return err
}

func (b *bucket) removeAll(ctx context.Context, instance int64) error {
	if err := b.ready(ctx); err != nil {
		return unlessForeign(err)
	}
	return b.walk(ctx, strconv.FormatInt(instance, 10)+"/", func(key cache.Key, _ s3.Object) error {
		return b.judge(b.client.Remove(ctx, nameOf(key)))
	})
}

// walk calls fn for the kept files whose names begin with under, a page at a time.
func (b *bucket) walk(ctx context.Context, under string, fn func(cache.Key, s3.Object) error) error {
	for after := ""; ; {
		page, err := b.client.List(ctx, under, after, listPage)
		if err = b.judge(err); err != nil {
			return err
		}
		for _, o := range page {
			after = o.Name
			if key, ours := keyOf(o.Name); ours {
				if err := fn(key, o); err != nil {
					return err
				}
			}
		}
		if len(page) < listPage {
			return nil
		}
	}
}

func (b *bucket) sweep(ctx context.Context, look lookFunc) (again time.Duration, err error) {
	if err := b.ready(ctx); err != nil {
		return sweepEvery, unlessForeign(err)
	}
	again = sweepEvery
	off, _ := b.client.ClockOff()
	var failed error
	err = b.walk(ctx, "", func(key cache.Key, o s3.Object) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		look(key, false, func() error {
			if time.Now().Add(-off).Sub(o.Written) < youngFor {
				again = youngFor
				return errYoung
			}
			failed = b.judge(b.client.Remove(ctx, nameOf(key)))
			return failed
		})
		return failed
	})
	return again, err
}
