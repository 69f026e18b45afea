package media

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

func (l *Library) keeps(t *testing.T, instance int64, kind event.MediaKind) Upload {
	t.Helper()
	u, err := l.Keep(context.Background(), instance, event.Uploaded{
		MediaInfo: event.MediaInfo{Kind: kind}, DirectPath: "/v/x", MediaKey: []byte("key"), UploadedAt: event.At(time.Now()),
	})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestAnUploadIsFoundByItsInstanceAloneUntilItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLibrary(t, nil)
		u := l.keeps(t, 1, event.MediaImage)
		if got, err := l.Upload(1, u.ID); err != nil || string(got.MediaKey) != "key" || got.DirectPath != "/v/x" {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := l.Upload(2, u.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("another instance: %v", err)
		}
		time.Sleep(Life)
		if _, err := l.Upload(1, u.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("expired: %v", err)
		}
	})
}

func TestUploadsAreListedNewestFirstAPageAtATime(t *testing.T) {
	l := newLibrary(t, nil)
	var want []uuid.UUID
	for range 5 {
		want = append([]uuid.UUID{l.keeps(t, 1, event.MediaImage).ID}, want...)
	}
	l.keeps(t, 2, event.MediaImage)
	var got []uuid.UUID
	var before uuid.UUID
	for {
		page, err := l.Uploads(1, before, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range page {
			got = append(got, u.ID)
			before = u.ID
		}
		if len(page) < 2 {
			break
		}
	}
	if len(got) != 5 || got[0] != want[0] || got[4] != want[4] {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestExpiredUploadsArePrunedAndOthersStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLibrary(t, nil)
		for range pruneStep + 3 {
			l.keeps(t, 1, event.MediaImage)
		}
		time.Sleep(Life - time.Second)
		young := l.keeps(t, 1, event.MediaImage)
		time.Sleep(2 * time.Second)
		if n, err := l.Prune(context.Background()); n != pruneStep+3 || err != nil {
			t.Errorf("%d removed, %v", n, err)
		}
		if _, err := l.Upload(1, young.ID); err != nil {
			t.Error(err)
		}
		if n := l.records(t); n != 2 {
			t.Errorf("%d records left", n)
		}
	})
}

// records counts what is in the two buckets.
func (l *Library) records(t *testing.T) (n int) {
	t.Helper()
	err := l.cfg.Store.View(func(tx *store.Tx) error {
		for _, bucket := range []string{uploads, uploadIDs} {
			if err := tx.Scan(bucket, store.Range{}, func(_, _ []byte) (bool, error) {
				n++
				return true, nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDeletingRemovesAllOfAnUploadAndOfAnInstance(t *testing.T) {
	l := newLibrary(t, nil)
	u := l.keeps(t, 1, event.MediaImage)
	l.keeps(t, 1, event.MediaImage)
	l.keeps(t, 2, event.MediaImage)
	ctx := context.Background()
	if _, err := l.Delete(ctx, 2, u.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("another instance's: %v", err)
	}
	if got, err := l.Delete(ctx, 1, u.ID); err != nil || got.ID != u.ID || l.records(t) != 4 {
		t.Errorf("%v, %v, %d records", got.ID, err, l.records(t))
	}
	if _, err := l.Delete(ctx, 1, u.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("again: %v", err)
	}
	err := l.cfg.Store.Update(ctx, func(tx *store.Tx) error { return Forget(tx, 1) })
	if err != nil || l.records(t) != 2 {
		t.Errorf("%v, %d records", err, l.records(t))
	}
}

func TestAMessageMayNameUploadsOfItsInstanceAndABatchThoseOfAll(t *testing.T) {
	l := newLibrary(t, nil)
	u := l.keeps(t, 1, event.MediaVideo)
	for _, c := range []struct {
		instance int64
		media    event.Media
		good     bool
	}{
		{1, event.Media{Kind: event.MediaVideo, UploadID: u.ID.String()}, true},
		{1, event.Media{Kind: event.MediaPTV, UploadID: u.ID.String()}, true},
		{2, event.Media{Kind: event.MediaVideo, UploadID: u.ID.String()}, false},
		{2, event.Media{Kind: event.MediaVideo, UploadID: u.ID.String(), Shared: true}, true},
		{1, event.Media{Kind: event.MediaImage, UploadID: u.ID.String()}, false},
		{1, event.Media{Kind: event.MediaVideo, UploadID: uuid.NewString()}, false},
		{1, event.Media{Kind: event.MediaVideo, UploadID: uuid.NewString(), Shared: true}, false},
		{1, event.Media{Kind: event.MediaVideo, UploadID: "x"}, false},
	} {
		src, err := l.Open(t.Context(), c.instance, &c.media)
		if c.good && (err != nil || src.Uploaded == nil || src.Uploaded.DirectPath != "/v/x") {
			t.Errorf("%+v: %v", c.media, err)
		}
		if !c.good && !errors.Is(err, event.ErrMedia) {
			t.Errorf("%+v: %v", c.media, err)
		}
	}
}
