package s3

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
)

func TestErrorsNameWhatToChange(t *testing.T) {
	c, err := New(Config{Endpoint: "http://127.0.0.1:1", Region: "us-east-1", Bucket: "files", Prefix: "postern/", AccessKey: "AKIAKEY", SecretKey: "secret", PathStyle: true})
	if err != nil {
		t.Fatal(err)
	}
	ahead := 20 * time.Minute
	c.off.Store(&ahead)
	late, cancel := context.WithTimeoutCause(t.Context(), 0, errors.New("no answer within 10s"))
	defer cancel()
	answer := func(status int, code string) error {
		return minio.ErrorResponse{StatusCode: status, Code: code, Region: "eu-west-1"}
	}
	for _, want := range []struct {
		ctx  context.Context
		err  error
		kind error
		said string
	}{
		{t.Context(), answer(403, "InvalidAccessKeyId"), ErrRefused, "media.store.s3.access_key"},
		{t.Context(), answer(403, "SignatureDoesNotMatch"), ErrRefused, "media.store.s3.secret_key"},
		{t.Context(), answer(403, "RequestTimeTooSkewed"), ErrRefused, "20m0s ahead of the server's"},
		{t.Context(), answer(403, "AccessDenied"), ErrRefused, "s3:PutObject"},
		{t.Context(), answer(404, "NoSuchBucket"), ErrRefused, "there is no bucket files"},
		{t.Context(), answer(400, "AuthorizationHeaderMalformed"), ErrRefused, "another region eu-west-1; correct media.store.s3.region"},
		{t.Context(), answer(301, "PermanentRedirect"), ErrRefused, "media.store.s3.region"},
		{t.Context(), answer(400, "BadDigest"), ErrFailed, "cut or damaged"},
		{t.Context(), answer(503, "Slow\nDown<"), ErrFailed, "it answered 503 SlowDown"},
		{t.Context(), syscall.ECONNREFUSED, ErrFailed, "the connection was refused"},
		{late, context.DeadlineExceeded, ErrFailed, "no answer within 10s"},
	} {
		got := c.explain(want.ctx, want.err)
		if !errors.Is(got, want.kind) || !strings.Contains(got.Error(), want.said) {
			t.Errorf("%v: %v, want %q", want.err, got, want.said)
		}
	}
	for code, missing := range map[string]bool{"NoSuchKey": true, "NoSuchBucket": false, "404 Not Found": true} {
		if isMissing(answer(http.StatusNotFound, code)) != missing {
			t.Errorf("%s: missing %t", code, !missing)
		}
	}
}

// TestRequestsEndWithTheirContext: the server takes a request and does not answer.
func TestRequestsEndWithTheirContext(t *testing.T) {
	released := make(chan struct{})
	s := newSilent(t, released)
	defer close(released)
	c, err := New(Config{Endpoint: s, Region: "us-east-1", Bucket: "files", AccessKey: "AKIAKEY", SecretKey: "secret", PathStyle: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	body := strings.NewReader("x")
	for name, err := range map[string]error{
		"put":    c.Put(ctx, "1/1", body, 1, [32]byte{}),
		"remove": c.Remove(ctx, "1/1"),
		"list":   second(c.List(ctx, "", "", 1)),
	} {
		if !errors.Is(err, ErrFailed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
