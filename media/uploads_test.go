package media

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

func (l *Library) keeps(t *testing.T, instance int64, kind event.MediaKind) Upload {
	t.Helper()
	return l.keepsOf(t, instance, kind, "")
}

func (l *Library) keepsOf(t *testing.T, instance int64, kind event.MediaKind, mimeType string) Upload {
	t.Helper()
	u, err := l.Keep(context.Background(), instance, event.Uploaded{
		MediaInfo: event.MediaInfo{Kind: kind, MimeType: mimeType}, DirectPath: "/v/x", MediaKey: []byte("key"), UploadedAt: event.At(time.Now()),
	}, Tags{})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestUploadBelongsToItsInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLibrary(t, nil)
		u := l.keeps(t, 1, event.MediaImage)
		other := l.keeps(t, 2, event.MediaImage)
		for _, id := range idsOf(u) {
			got, err := l.Upload(1, id)
			if err != nil || string(got.MediaKey) != "key" || got.DirectPath != "/v/x" || got.ID != u.ID || got.Number != u.Number {
				t.Errorf("%s: %+v, %v", id, got, err)
			}
			if _, err := l.Upload(2, id); !errors.Is(err, ErrNotFound) {
				t.Errorf("another instance: %v", err)
			}
		}
		if other.Number <= u.Number {
			t.Errorf("numbers %d and %d", u.Number, other.Number)
		}
		for _, none := range []string{"", "0", "-1", "77", "x", "{" + u.ID.String() + "}", strings.ReplaceAll(u.ID.String(), "-", "")} {
			if _, err := l.Upload(1, none); !errors.Is(err, ErrNotFound) {
				t.Errorf("%q: %v", none, err)
			}
		}
		time.Sleep(Life)
		if got, err := l.Upload(1, u.ID.String()); err != nil || !got.Expired(time.Now()) {
			t.Errorf("expired: %+v, %v", got, err)
		}
		for _, id := range idsOf(u) {
			if _, err := l.Open(t.Context(), 1, &event.Media{Kind: event.MediaImage, UploadID: id}); !errors.Is(err, event.ErrMedia) {
				t.Errorf("expired, and can be sent: %v", err)
			}
		}
	})
}

func idsOf(u Upload) []string { return []string{u.ID.String(), strconv.FormatInt(u.Number, 10)} }

// TestUploadListOrder walks to the end and back.
func TestUploadListOrder(t *testing.T) {
	l := newLibrary(t, nil)
	var want []uuid.UUID
	for range 5 {
		want = append([]uuid.UUID{l.keeps(t, 1, event.MediaImage).ID}, want...)
	}
	l.keeps(t, 2, event.MediaImage)
	page := func(q UploadQuery, older, newer bool, ids ...uuid.UUID) {
		t.Helper()
		q.Limit = 2
		p, err := l.Uploads(t.Context(), 1, q)
		var got []uuid.UUID
		for _, u := range p.Uploads {
			got = append(got, u.ID)
		}
		if err != nil || !slices.Equal(got, ids) || (p.Older != uuid.Nil) != older || (p.Newer != uuid.Nil) != newer || p.Total != 5 {
			t.Errorf("%+v: %v, older %v, newer %v, %d in all, %v", q, got, p.Older, p.Newer, p.Total, err)
		}
	}
	page(UploadQuery{}, true, false, want[0], want[1])
	page(UploadQuery{Before: want[1]}, true, true, want[2], want[3])
	page(UploadQuery{Before: want[3]}, false, true, want[4])
	page(UploadQuery{Before: want[4]}, false, true)
	page(UploadQuery{After: want[4]}, true, true, want[2], want[3])
	page(UploadQuery{After: want[2]}, true, false, want[0], want[1])
	page(UploadQuery{After: want[0]}, true, false)
}

// TestAPageOfUploadsLooksAtBoundedRecords walks there and back with a filter that one of
// many fits.
func TestAPageOfUploadsLooksAtBoundedRecords(t *testing.T) {
	l := newLibrary(t, nil)
	var first uuid.UUID
	const n = 2*listMax + 10
	for i := 0; i < n; i += 1000 {
		err := l.cfg.Store.Update(t.Context(), func(tx *store.Tx) error {
			for j := range min(1000, n-i) {
				u := Upload{ID: uuid.Must(uuid.NewV7()), Number: int64(i + j + 1)}
				if u.Kind = event.MediaImage; i+j == 0 {
					u.Kind, first = event.MediaVideo, u.ID
				}
				if err := store.PutJSON(tx, uploads, store.Key(int64(1), u.ID), u); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if p, err := l.Uploads(t.Context(), 1, UploadQuery{Limit: 50}); err != nil || p.Total != n || p.Minimum || len(p.Uploads) != 50 {
		t.Errorf("without a filter: %d of %d, %v", len(p.Uploads), p.Total, err)
	}
	q := UploadQuery{Kind: event.MediaVideo, Limit: 50}
	read := func() (p UploadPage) {
		begin := l.cfg.Store.Stats().Looked
		p, err := l.Uploads(t.Context(), 1, q)
		if looked := l.cfg.Store.Stats().Looked - begin; err != nil || looked > 4*listMax+100 {
			t.Fatalf("looks at %d records, %v", looked, err)
		}
		return p
	}
	p, pages := read(), 1
	if !p.Minimum || len(p.Uploads) != 0 || p.Newer != uuid.Nil {
		t.Errorf("the first page: %+v", p)
	}
	for ; p.Older != uuid.Nil && len(p.Uploads) == 0; pages++ {
		q.Before = p.Older
		p = read()
	}
	if pages != 3 || len(p.Uploads) != 1 || p.Uploads[0].ID != first {
		t.Errorf("%d pages, the last with %d uploads", pages, len(p.Uploads))
	}
	for q.Before = uuid.Nil; p.Newer != uuid.Nil; pages++ {
		q.After = p.Newer
		if p = read(); len(p.Uploads) != 0 || pages > 6 {
			t.Fatalf("on the way back, page %d: %+v", pages, p)
		}
	}
}

func TestUploadsAreSelectedByEachFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLibrary(t, nil)
		keep := func(kind event.MediaKind, id string) uuid.UUID {
			time.Sleep(time.Hour)
			u, err := l.Keep(t.Context(), 1, event.Uploaded{MediaInfo: event.MediaInfo{Kind: kind}, UploadedAt: event.At(time.Now())}, Tags{ExternalID: id})
			if err != nil {
				t.Fatal(err)
			}
			return u.ID
		}
		begin := time.Now()
		first, second, third := keep(event.MediaImage, "a"), keep(event.MediaVideo, "b"), keep(event.MediaImage, "b")
		time.Sleep(Life - 2*time.Hour - time.Minute) // the first is just expired
		time.Sleep(2 * time.Minute)
		yes, no := true, false
		for name, c := range map[string]struct {
			q    UploadQuery
			want []uuid.UUID
		}{
			"all":         {UploadQuery{}, []uuid.UUID{third, second, first}},
			"kind":        {UploadQuery{Kind: event.MediaImage}, []uuid.UUID{third, first}},
			"external id": {UploadQuery{ExternalID: "b"}, []uuid.UUID{third, second}},
			"both":        {UploadQuery{ExternalID: "b", Kind: event.MediaVideo}, []uuid.UUID{second}},
			"expired":     {UploadQuery{Expired: &yes}, []uuid.UUID{first}},
			"not expired": {UploadQuery{Expired: &no}, []uuid.UUID{third, second}},
			"from":        {UploadQuery{From: begin.Add(2 * time.Hour)}, []uuid.UUID{third, second}},
			"to":          {UploadQuery{To: begin.Add(2 * time.Hour)}, []uuid.UUID{second, first}},
		} {
			c.q.Limit = 10
			p, err := l.Uploads(t.Context(), 1, c.q)
			var got []uuid.UUID
			for _, u := range p.Uploads {
				got = append(got, u.ID)
			}
			if err != nil || !slices.Equal(got, c.want) || p.Total != len(c.want) {
				t.Errorf("%s: %v, want %v (%v)", name, got, c.want, err)
			}
		}
	})
}

// TestOldUploadsAreNumberedAtStart: the next start after an
// update, and the one after a crash in the middle, number what has none.
func TestOldUploadsAreNumberedAtStart(t *testing.T) {
	l := newLibrary(t, nil)
	const old = pruneStep + 5
	var keys []uuid.UUID
	err := l.cfg.Store.Update(t.Context(), func(tx *store.Tx) error {
		keys = nil
		for range old {
			u := Upload{ID: uuid.Must(uuid.NewV7()), ExpiresAt: event.At(time.Now().Add(Life)), Uploaded: event.Uploaded{DirectPath: "/old"}}
			keys = append(keys, u.ID)
			if err := errors.Join(store.PutJSON(tx, uploads, store.Key(int64(1), u.ID), u), tx.Put(uploadIDs, u.ID[:], store.Key(int64(1)))); err != nil {
				return err
			}
		}
		return tx.Put(uploadIDs, bytes.Repeat([]byte{1}, 16), store.Key(int64(1))) // its record is gone
	})
	if err != nil {
		t.Fatal(err)
	}
	again, err := New(l.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Stop(t.Context())
	seen := map[int64]bool{}
	for _, key := range keys {
		u, err := again.Upload(1, key.String())
		if err != nil || u.Number <= 0 || seen[u.Number] || u.DirectPath != "/old" {
			t.Fatalf("%+v, %v", u, err)
		}
		seen[u.Number] = true
		if same, err := again.Upload(1, strconv.FormatInt(u.Number, 10)); err != nil || same.ID != key {
			t.Fatalf("by number: %v, %v", same.ID, err)
		}
	}
	if n := again.records(t); n != 3*old {
		t.Errorf("%d records", n)
	}
}

func TestExpiredUploadsArePruned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLibrary(t, nil)
		for range pruneStep + 3 {
			l.keeps(t, 1, event.MediaImage)
		}
		time.Sleep(Life + Shown - time.Second)
		young := l.keeps(t, 1, event.MediaImage)
		if n, next, err := l.Prune(context.Background()); !next.Equal(time.Now().Add(time.Second)) || n != 0 || err != nil {
			t.Errorf("%d removed too early, %v", n, err)
		}
		time.Sleep(2 * time.Second)
		if n, _, err := l.Prune(context.Background()); n != pruneStep+3 || err != nil {
			t.Errorf("%d removed, %v", n, err)
		}
		if _, err := l.Upload(1, young.ID.String()); err != nil {
			t.Error(err)
		}
		if n := l.records(t); n != 3 {
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

func TestDeleteRemovesUploadAndInstance(t *testing.T) {
	l := newLibrary(t, nil)
	u := l.keeps(t, 1, event.MediaImage)
	l.keeps(t, 1, event.MediaImage)
	l.keeps(t, 2, event.MediaImage)
	ctx := context.Background()
	if err := l.Delete(ctx, 2, u.ID.String()); !errors.Is(err, ErrNotFound) {
		t.Errorf("another instance's: %v", err)
	}
	if err := l.Delete(ctx, 1, strconv.FormatInt(u.Number, 10)); err != nil || l.records(t) != 6 {
		t.Errorf("%v, %d records", err, l.records(t))
	}
	if err := l.Delete(ctx, 1, u.ID.String()); !errors.Is(err, ErrNotFound) {
		t.Errorf("again: %v", err)
	}
	err := l.cfg.Store.Update(ctx, func(tx *store.Tx) error { return Forget(tx, 1) })
	if err != nil || l.records(t) != 3 {
		t.Errorf("%v, %d records", err, l.records(t))
	}
}

func TestBatchMayUseUploadsOfAllInstances(t *testing.T) {
	l := newLibrary(t, nil)
	u := l.keepsOf(t, 1, event.MediaVideo, mp4Type)
	for _, c := range []struct {
		instance int64
		media    event.Media
		good     bool
	}{
		{1, event.Media{Kind: event.MediaVideo, UploadID: u.ID.String()}, true},
		{1, event.Media{Kind: event.MediaVideo, UploadID: strconv.FormatInt(u.Number, 10)}, true},
		{2, event.Media{Kind: event.MediaVideo, UploadID: strconv.FormatInt(u.Number, 10)}, false},
		{2, event.Media{UploadID: strconv.FormatInt(u.Number, 10), Shared: true}, true},
		{1, event.Media{Kind: event.MediaVideo, UploadID: "4711"}, false},
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

// TestAudioUploadAsVoiceNote: who uploads a note
// knows no other kind than audio, and the batch that sends it has that type too.
func TestAudioUploadAsVoiceNote(t *testing.T) {
	l := newLibrary(t, nil)
	for _, c := range []struct {
		made     event.MediaKind
		mimeType string
		wanted   event.MediaKind
		good     bool
	}{
		{event.MediaAudio, opusType, event.MediaVoice, true},
		{event.MediaVoice, opusType, event.MediaAudio, true},
		{event.MediaAudio, mp3Type, event.MediaVoice, false},
		{event.MediaAudio, mp3Type, event.MediaAudio, true},
		{event.MediaPTV, mp4Type, event.MediaVideo, true},
		{event.MediaDocument, opusType, event.MediaVoice, false},
		{event.MediaDocument, mp4Type, event.MediaVideo, false},
		{event.MediaVideo, mp4Type, event.MediaDocument, false},
	} {
		u := l.keepsOf(t, 1, c.made, c.mimeType)
		_, err := l.Open(t.Context(), 1, &event.Media{Kind: c.wanted, UploadID: u.ID.String()})
		if c.good && err != nil || !c.good && !errors.Is(err, event.ErrMedia) {
			t.Errorf("%s of %s as %s: %v", c.made, c.mimeType, c.wanted, err)
		}
	}
}

func TestHeldCountsUploadsAndBytes(t *testing.T) {
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
