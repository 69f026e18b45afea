package media

import (
	"context"
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

func TestUploadsOfAllInstancesAreHeldWithTheirBytes(t *testing.T) {
	l := newLibrary(t, nil)
	for instance := range int64(3) {
		u := event.Uploaded{MediaInfo: event.MediaInfo{Kind: event.MediaImage, Size: 100}, UploadedAt: event.At(time.Now())}
		if _, err := l.Keep(context.Background(), instance+1, u, Tags{}); err != nil {
			t.Fatal(err)
		}
	}
	if n, size, err := l.Held(); n != 3 || size != 300 || err != nil {
		t.Errorf("%d uploads of %d bytes, %v; want 3 of 300", n, size, err)
	}
	if err := l.cfg.Store.Update(context.Background(), func(tx *store.Tx) error { return Forget(tx, 1) }); err != nil {
		t.Fatal(err)
	}
	if n, size, err := l.Held(); n != 2 || size != 200 || err != nil {
		t.Errorf("after one instance was deleted: %d uploads of %d bytes, %v", n, size, err)
	}
}
