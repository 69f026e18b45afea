package s3

import (
	"strings"
	"testing"
	"time"
)

func TestBucketIsInPathOrHost(t *testing.T) {
	for path, want := range map[bool]string{true: "https://s3.example.org:9000/files/postern/1/2?", false: "https://files.s3.example.org:9000/postern/1/2?"} {
		c, err := New(Config{Endpoint: "https://s3.example.org:9000", Region: "eu-1", Bucket: "files", Prefix: "postern/", AccessKey: "AKIAKEY", SecretKey: "secret", PathStyle: path})
		if err != nil {
			t.Fatal(err)
		}
		u, err := c.core.PresignedGetObject(t.Context(), "files", "postern/1/2", time.Minute, nil)
		if err != nil || !strings.HasPrefix(u.String(), want) || !strings.Contains(u.String(), "eu-1") {
			t.Errorf("%v, %v, want %s", u, err, want)
		}
	}
}
