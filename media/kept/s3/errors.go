package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"postern/internal/netfault"
)

var (
	// ErrRefused reports that the server refused a request, which an operator has to
	// change something about: a key, a clock, the bucket, a permission.
	ErrRefused = errors.New("the S3 server refused the request")
	// ErrFailed reports that the server was not reached, or failed.
	ErrFailed = errors.New("the S3 server failed")

	errStalled = fmt.Errorf("no progress for %v", stallTimeout)
)

func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, answerTimeout, fmt.Errorf("no answer within %v", answerTimeout))
}

func responseOf(err error) (r minio.ErrorResponse) {
	errors.As(err, &r)
	return r
}

// isMissing reports whether the bucket is there, and the object is not.
func isMissing(err error) bool {
	r := responseOf(err)
	return r.Code == minio.NoSuchKey || r.StatusCode == http.StatusNotFound && r.Code != minio.NoSuchBucket
}

func isRefused(err error) bool {
	r := responseOf(err)
	return r.StatusCode == http.StatusForbidden || r.StatusCode == http.StatusBadRequest || r.StatusCode == http.StatusMovedPermanently
}

// explain returns an error of the library in words that name the setting to change.
func (c *Client) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%w: %w", ErrFailed, cause)
	}
	r := responseOf(err)
	if text := c.refusal(r); text != "" {
		return fmt.Errorf("%w: %s", ErrRefused, text)
	}
	switch {
	case r.Code == "BadDigest" || r.Code == "XAmzContentSHA256Mismatch" || r.Code == "IncompleteBody":
		return fmt.Errorf("%w: the file arrived cut or damaged (%s)", ErrFailed, r.Code)
	case r.StatusCode != 0:
		return fmt.Errorf("%w: it answered %d %s", ErrFailed, r.StatusCode, word(r.Code))
	}
	plain := netfault.Plain(err)
	if cause := netfault.Cause(plain); cause != plain.Error() {
		return fmt.Errorf("%w: %w (%s)", ErrFailed, plain, cause)
	}
	return fmt.Errorf("%w: %w", ErrFailed, plain)
}

// refusal returns what an operator has to change for the server to take a request; empty if
// there is nothing.
func (c *Client) refusal(r minio.ErrorResponse) string {
	switch r.Code {
	case "InvalidAccessKeyId":
		return "it does not know the access key; correct media.store.s3.access_key"
	case "SignatureDoesNotMatch":
		return "the signature is wrong; correct media.store.s3.secret_key"
	case "RequestTimeTooSkewed", "RequestExpired":
		return "the clock of this machine is " + c.clockWords() + "; synchronise both clocks by NTP"
	case minio.NoSuchBucket:
		return fmt.Sprintf("there is no bucket %s; create it, or correct media.store.s3.bucket", c.cfg.Bucket)
	case "AuthorizationHeaderMalformed", "InvalidRegion", "PermanentRedirect", "TemporaryRedirect", "IllegalLocationConstraintException":
		region := ""
		if r.Region != "" {
			region = " " + word(r.Region)
		}
		return "the bucket is in another region" + region + "; correct media.store.s3.region"
	case "InvalidBucketName", "NotImplemented":
		return "it answered " + word(r.Code) + "; see media.store.s3.bucket and media.store.s3.path_style"
	}
	switch r.StatusCode {
	case http.StatusForbidden, http.StatusUnauthorized:
		return fmt.Sprintf("access denied (%s); the key needs s3:ListBucket on the bucket, and s3:GetObject, s3:PutObject and s3:DeleteObject on %s*", word(r.Code), c.cfg.Prefix)
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect:
		return "the bucket is at another address; correct media.store.s3.endpoint and media.store.s3.region"
	}
	return ""
}

// clockWords says how the clocks differ, as far as it is known.
func (c *Client) clockWords() string {
	off, known := c.ClockOff()
	switch {
	case known && off >= time.Minute:
		return off.Round(time.Second).String() + " ahead of the server's"
	case known && off <= -time.Minute:
		return (-off).Round(time.Second).String() + " behind the server's"
	}
	return "more than 15 minutes off the server's"
}

// word returns a code of an answer, without what no code has.
func word(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, s)
	return s[:min(len(s), 64)]
}
