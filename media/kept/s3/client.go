package s3

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	answerTimeout = 10 * time.Second // of a request without a file
	stallTimeout  = time.Minute      // without a byte of a file, or without the answer after the last one
	dialTimeout   = 5 * time.Second
)

// Config names a bucket and a key to it. All fields but Prefix are required.
type Config struct {
	Endpoint             string // http or https, host and port, such as https://s3.eu-central-1.amazonaws.com
	Region, Bucket       string
	Prefix               string // of all keys; empty or with a slash at its end
	AccessKey, SecretKey string
	PathStyle            bool // the bucket is in the path, not in the host name
}

// Object is an object of the bucket.
type Object struct {
	Name    string // its key without the prefix
	Size    int64
	Written time.Time // by the clock of the server
}

// Client is safe for concurrent use.
type Client struct {
	cfg  Config
	core minio.Core
	off  atomic.Pointer[time.Duration] // the local clock against that of the last answer
}

// New returns the client of a bucket. It does not connect.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.Endpoint)
	if err != nil || u.Host == "" {
		return nil, errors.New("media.store.s3.endpoint cannot be read")
	}
	lookup := minio.BucketLookupDNS
	if cfg.PathStyle {
		lookup = minio.BucketLookupPath
	}
	secure := u.Scheme == "https"
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, fmt.Errorf("media.store.s3: %w", err)
	}
	transport.DialContext = (&net.Dialer{Timeout: dialTimeout}).DialContext
	transport.ResponseHeaderTimeout = 0 // stallTimeout applies
	c := &Client{cfg: cfg}
	client, err := minio.New(u.Host, &minio.Options{
		Creds: credentials.NewStaticV4(cfg.AccessKey, cfg.SecretKey, ""), Secure: secure, Region: cfg.Region, BucketLookup: lookup,
		Transport: clocked{transport, c}, MaxRetries: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("media.store.s3.endpoint: %w", err)
	}
	c.core = minio.Core{Client: client}
	return c, nil
}

// String returns endpoint, bucket and prefix, for logs.
func (c *Client) String() string { return c.cfg.Endpoint + "/" + c.cfg.Bucket + "/" + c.cfg.Prefix }

// clocked compares the clocks by the Date of each answer.
type clocked struct {
	http.RoundTripper

	of *Client
}

// RoundTrip implements http.RoundTripper.
func (t clocked) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil && time.Since(began) < answerTimeout {
		off := began.Add(time.Since(began) / 2).Sub(at.Add(500 * time.Millisecond)).Round(time.Second) // a Date has no fractions
		t.of.off.Store(&off)
	}
	return resp, nil
}

// ClockOff returns how far the local clock is ahead of that of the server, by its last
// answer. known is false before one.
func (c *Client) ClockOff() (off time.Duration, known bool) {
	if p := c.off.Load(); p != nil {
		return *p, true
	}
	return 0, false
}

// Put stores an object, and replaces one of that name. Once it returns nil the server has
// all of it.
func (c *Client) Put(ctx context.Context, name string, body io.ReaderAt, size int64, sha [32]byte) error {
	w := watch(ctx)
	defer w.stop()
	_, err := c.core.PutObject(w.ctx, c.cfg.Bucket, c.cfg.Prefix+name, &watched{io.NewSectionReader(body, 0, size), w}, size, "", hex.EncodeToString(sha[:]), minio.PutObjectOptions{
		DisableContentSha256: true, // of pieces: the hash of the whole is signed
		UserMetadata:         map[string]string{"x-amz-checksum-sha256": base64.StdEncoding.EncodeToString(sha[:])},
	})
	return c.explain(w.ctx, err)
}

// PutText is Put of a short text.
func (c *Client) PutText(ctx context.Context, name, text string) error {
	return c.Put(ctx, name, strings.NewReader(text), int64(len(text)), sha256.Sum256([]byte(text)))
}

// Text returns the content of an object of at most 1 KiB; found is false if there is none.
func (c *Client) Text(ctx context.Context, name string) (text string, found bool, err error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	body, _, _, err := c.core.GetObject(ctx, c.cfg.Bucket, c.cfg.Prefix+name, minio.GetObjectOptions{})
	if err == nil {
		var raw []byte
		raw, err = io.ReadAll(io.LimitReader(body, 1024))
		_ = body.Close()
		text = string(raw)
	}
	if isMissing(err) {
		return "", false, nil
	}
	return text, err == nil, c.explain(ctx, err)
}

// Open returns an object for reading; found is false if there is none of that size. A read
// requests what follows of the object, or as much as [Reader.Expect] says. ctx ends it.
func (c *Client) Open(ctx context.Context, name string, size int64) (r *Reader, found bool, err error) {
	asked, cancel := limited(ctx)
	defer cancel()
	is, err := c.core.StatObject(asked, c.cfg.Bucket, c.cfg.Prefix+name, minio.StatObjectOptions{})
	switch {
	case isMissing(err):
		return nil, false, nil
	case isRefused(err): // an answer to HEAD has no body to explain it
		if _, _, err := c.Text(ctx, name); err != nil {
			return nil, false, err
		}
	case err == nil && is.Size != size:
		return nil, false, nil
	}
	if err != nil {
		return nil, false, c.explain(asked, err)
	}
	return &Reader{c: c, ctx: ctx, name: name, etag: is.ETag, size: size}, true, nil
}

// Remove deletes an object. It is no error if there is none.
func (c *Client) Remove(ctx context.Context, name string) error {
	ctx, cancel := limited(ctx)
	defer cancel()
	err := c.core.RemoveObject(ctx, c.cfg.Bucket, c.cfg.Prefix+name, minio.RemoveObjectOptions{})
	if isMissing(err) {
		return nil
	}
	return c.explain(ctx, err)
}

// List returns objects whose names begin with under and follow after, in their order, limit
// or 1000 at most.
func (c *Client) List(ctx context.Context, under, after string, limit int) (all []Object, err error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	o := minio.ListObjectsOptions{Prefix: c.cfg.Prefix + under, Recursive: true, MaxKeys: min(limit, 1000)}
	if after != "" {
		o.StartAfter = c.cfg.Prefix + after
	}
	for found := range c.core.ListObjectsIter(ctx, c.cfg.Bucket, o) {
		if found.Err != nil {
			return nil, c.explain(ctx, found.Err)
		}
		if name, ours := strings.CutPrefix(found.Key, c.cfg.Prefix); ours {
			if name <= after { // otherwise a walk through the bucket would not end
				return nil, fmt.Errorf("%w: it lists objects out of order", ErrFailed)
			}
			all = append(all, Object{name, found.Size, found.LastModified})
		}
		if len(all) == o.MaxKeys {
			return all, nil
		}
	}
	return all, c.explain(ctx, ctx.Err()) // the library ends a list without an error then
}
