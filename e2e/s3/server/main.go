// Server is an S3 server in memory for tests, with one bucket, one key and signatures that
// are verified. It prints its address on the first line.
//
// Besides S3 it has routes for tests, without a signature:
//
//	GET  /-/objects           the objects: [{"key","size","sha256"}]
//	POST /-/clock?ahead=20m   sets its clock
//	POST /-/put?key=K&age=2h  stores the body, written that long ago
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"
	"github.com/rclone/gofakes3/signature"
)

// clock is the time of the server.
type clock struct{ ahead, age atomic.Int64 }

// Now implements gofakes3.TimeSource.
func (c *clock) Now() time.Time {
	return time.Now().Add(time.Duration(c.ahead.Load() - c.age.Load())).In(time.FixedZone("GMT", 0))
}

// Since implements gofakes3.TimeSource.
func (c *clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// backend lists as S3 does. gofakes3 takes an empty delimiter for one, and skips an object
// if the one that a list begins after was deleted.
type backend struct{ *s3mem.Backend }

// ListBucket implements gofakes3.Backend.
func (b backend) ListBucket(ctx context.Context, name string, prefix *gofakes3.Prefix, page gofakes3.ListBucketPage) (*gofakes3.ObjectList, error) {
	if prefix != nil && prefix.Delimiter == "" {
		plain := *prefix
		plain.HasDelimiter = false
		prefix = &plain
	}
	all, err := b.Backend.ListBucket(ctx, name, prefix, gofakes3.ListBucketPage{})
	if err != nil {
		return nil, err
	}
	all.Contents = slices.DeleteFunc(all.Contents, func(o *gofakes3.Content) bool { return page.Marker != "" && o.Key <= page.Marker })
	if n := int(page.MaxKeys); n > 0 && len(all.Contents) > n {
		all.Contents = all.Contents[:n]
		all.IsTruncated, all.NextMarker = true, all.Contents[n-1].Key
	}
	return all, nil
}

type object struct {
	Key    string `json:"key"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func main() {
	bucket := flag.String("bucket", "files", "")
	access := flag.String("access", "", "")
	secret := flag.String("secret", "", "")
	flag.Parse()
	c := &clock{}
	signature.TimeNow = c.Now
	store := s3mem.New(s3mem.WithTimeSource(c))
	if err := store.CreateBucket(context.Background(), *bucket); err != nil {
		log.Fatal(err)
	}
	s3 := gofakes3.New(backend{store}, gofakes3.WithV4Auth(map[string]string{*access: *secret}), gofakes3.WithTimeSource(c)).Server()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/objects", func(w http.ResponseWriter, r *http.Request) {
		all, err := objects(r.Context(), store, *bucket)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(all)
	})
	mux.HandleFunc("POST /-/clock", func(_ http.ResponseWriter, r *http.Request) {
		d, _ := time.ParseDuration(r.FormValue("ahead"))
		c.ahead.Store(int64(d))
	})
	mux.HandleFunc("POST /-/put", func(w http.ResponseWriter, r *http.Request) {
		d, _ := time.ParseDuration(r.URL.Query().Get("age"))
		c.age.Store(int64(d))
		meta := map[string]string{"Last-Modified": c.Now().UTC().Format(http.TimeFormat)}
		_, err := store.PutObject(r.Context(), *bucket, r.URL.Query().Get("key"), meta, r.Body, r.ContentLength)
		c.age.Store(0)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", c.Now().UTC().Format(http.TimeFormat))
		s3.ServeHTTP(w, r)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Addr())
	log.Fatal(http.Serve(l, mux))
}

func objects(ctx context.Context, store *s3mem.Backend, bucket string) ([]object, error) {
	list, err := store.ListBucket(ctx, bucket, &gofakes3.Prefix{}, gofakes3.ListBucketPage{})
	if err != nil {
		return nil, err
	}
	all := []object{}
	for _, o := range list.Contents {
		got, err := store.GetObject(ctx, bucket, o.Key, nil)
		if err != nil {
			continue // it was removed meanwhile
		}
		hash := sha256.New()
		n, err := io.Copy(hash, got.Contents)
		_ = got.Contents.Close()
		if err != nil {
			return nil, err
		}
		all = append(all, object{o.Key, n, hex.EncodeToString(hash.Sum(nil))})
	}
	return all, nil
}
