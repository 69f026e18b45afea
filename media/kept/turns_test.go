package kept

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
	"postern/media/cache"
	"postern/store"
)

// origin is where a keeper in a bubble fetches from.
type origin struct {
	*Keeper
	store *store.Store
	start time.Time
	log   bytes.Buffer

	mu         sync.Mutex
	takes      time.Duration
	fail       error
	running    map[int64]int
	most       int // fetches at once
	mostOfOne  int // and of one instance
	begun      []cache.Key
	times      []time.Duration
	onWay      map[uint64]bool
	unlogged   bool
	downloaded map[cache.Key]string // other contents than those of messages
}

// inBubble runs fn with a keeper in a bubble.
func inBubble(t *testing.T, change func(*Config), fn func(t *testing.T, o *origin)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := &origin{running: map[int64]int{}, start: time.Now(), onWay: map[uint64]bool{}, downloaded: map[cache.Key]string{}}
		var err error
		if o.store, err = store.Open(store.Options{Path: filepath.Join(dir, "data.db"), Buckets: Buckets(), MinFree: 1, NoSync: true}); err != nil {
			t.Fatal(err)
		}
		cfg := Config{
			Store: o.store, Enabled: true, Dir: filepath.Join(dir, "kept"), MaxFile: 1000, Message: o.message, Download: o.download,
			Held: func(cache.Key) (f cache.File, held bool) { return f, false },
			OnWay: func(_ *store.Tx, seq uint64) (bool, bool, error) {
				return o.onWay[seq], o.unlogged && !o.onWay[seq], nil
			}, Logger: slog.New(slog.NewTextHandler(&o.log, nil)),
		}
		if change != nil {
			change(&cfg)
		}
		if o.Keeper, err = Open(cfg); err != nil {
			t.Fatal(err)
		}
		fn(t, o)
		if err := errors.Join(o.Stop(t.Context()), o.store.Close()); err != nil {
			t.Error(err)
		}
	})
}

func textOf(key cache.Key) string { return fmt.Sprintf("%05d %05d", key.Instance, key.Message) }

func (o *origin) message(instance, id int64) (event.Message, error) {
	text := textOf(cache.Key{Instance: instance, Message: id})
	sum := sha256.Sum256([]byte(text))
	content, err := json.Marshal(map[string]any{"fileSha256": sum[:], "directPath": "/v/x", "fileLength": fmt.Sprint(len(text))})
	return event.Message{ID: id, MessageType: "documentMessage", Content: content}, err
}

func (o *origin) download(ctx context.Context, m event.Message, instance int64, to *os.File, _ int64) error {
	key := cache.Key{Instance: instance, Message: m.ID}
	o.mu.Lock()
	o.running[instance]++
	all := 0
	for _, n := range o.running {
		all += n
	}
	o.most, o.mostOfOne = max(o.most, all), max(o.mostOfOne, o.running[instance])
	o.begun, o.times = append(o.begun, key), append(o.times, time.Since(o.start))
	text, fail, takes := textOf(key), o.fail, o.takes
	if other, is := o.downloaded[key]; is {
		text = other
	}
	o.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
	}
	o.mu.Lock()
	o.running[instance]--
	o.mu.Unlock()
	if fail != nil {
		return fail
	}
	_, err := to.WriteString(text)
	return err
}

// wish stores the wishes of messages, as the commits of these do.
func (o *origin) wish(t *testing.T, keys ...cache.Key) {
	t.Helper()
	err := o.store.Update(t.Context(), func(tx *store.Tx) (err error) {
		for _, key := range keys {
			m, e := o.message(key.Instance, key.Message)
			err = errors.Join(err, e, o.Wish(tx, key.Instance, &m))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (o *origin) is(t *testing.T, key cache.Key, state State, reason Reason, attempts int) {
	t.Helper()
	if r, _, err := o.record(key); err != nil || r.State != state || r.Reason != reason || r.Attempts != attempts {
		t.Errorf("%v: %+v %v, want %s %s after %d", key, r, err, state, reason, attempts)
	}
}

func TestFetchesTakeTurns(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, o *origin) {
		o.takes = 300 * time.Millisecond
		for instance := range int64(6) {
			for message := range int64(5) {
				o.wish(t, cache.Key{Instance: instance + 1, Message: message + 1})
			}
		}
		o.Start()
		time.Sleep(time.Minute)
		if o.most != maxFetches || o.mostOfOne != 1 || len(o.begun) != 30 {
			t.Errorf("%d at once, %d of one instance, %d in all", o.most, o.mostOfOne, len(o.begun))
		}
		count := map[int64]int{}
		for i, key := range o.begun {
			count[key.Instance]++
			for instance := range int64(6) {
				if n := count[instance+1]; n < 5 && count[key.Instance] > n+3 {
					t.Errorf("fetch %d: instance %d has had %d, instance %d only %d", i, key.Instance, count[key.Instance], instance+1, n)
				}
			}
		}
		if took := o.times[29]; took > 25*time.Second {
			t.Errorf("the last one began after %v: places were idle", took)
		}
	})
}

// TestOfflineFilesWait without an attempt, and others do not wait for them.
func TestOfflineFilesWait(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, o *origin) {
		key := cache.Key{Instance: 1, Message: 1}
		o.fail = fmt.Errorf("no: %w", event.ErrNotConnected)
		o.wish(t, key)
		o.Start()
		time.Sleep(2 * time.Hour)
		o.is(t, key, Pending, "", 0)
		o.mu.Lock()
		o.fail = nil
		o.mu.Unlock()
		time.Sleep(sleepFor + 2*pollEvery)
		o.is(t, key, Stored, "", 1)
	})
}

// TestFailedFetchIsTriedForDay: after 10 s, 1 min, 10 min and then hourly.
func TestFailedFetchIsTriedForDay(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, o *origin) {
		key := cache.Key{Instance: 1, Message: 1}
		o.fail = errors.New("no answer")
		o.wish(t, key)
		o.Start()
		time.Sleep(23 * time.Hour)
		o.is(t, key, Pending, Unreachable, len(o.times))
		time.Sleep(3 * time.Hour)
		o.is(t, key, Failed, Unreachable, len(o.times))
		for i, at := range o.times[1:] {
			want := pauses[min(i, len(pauses)-1)]
			if got := at - o.times[i]; got < want || got > want+2*pollEvery {
				t.Errorf("attempt %d came after %v, want %v", i+2, got, want)
			}
		}
		if last := o.times[len(o.times)-1]; last < 24*time.Hour || last > 25*time.Hour {
			t.Errorf("the last attempt came after %v", last)
		}
		o.mu.Lock()
		o.fail = nil
		o.mu.Unlock()
		o.Offer(t.Context(), key) // a GET has fetched it
		time.Sleep(2 * pollEvery)
		o.is(t, key, Stored, "", len(o.times))
	})
}

func TestGoneAndBrokenFilesFailAtOnce(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, o *origin) {
		gone, other := cache.Key{Instance: 1, Message: 1}, cache.Key{Instance: 1, Message: 2}
		o.fail, o.downloaded[other] = event.ErrMediaGone, "not the file of the message"
		o.wish(t, gone)
		o.Start()
		time.Sleep(2 * pollEvery)
		o.is(t, gone, Failed, Gone, 1)
		o.mu.Lock()
		o.fail = nil
		o.mu.Unlock()
		o.wish(t, other)
		time.Sleep(2 * pollEvery)
		o.is(t, other, Failed, Invalid, 1)
		if _, ok := o.Open(t.Context(), other); ok {
			t.Error("it is served")
		}
	})
}

// TestRetentionSparesFilesOnTheirWay while the event that has their address is delivered.
func TestRetentionSparesFilesOnTheirWay(t *testing.T) {
	inBubble(t, func(c *Config) { c.Retention = time.Hour }, func(t *testing.T, o *origin) {
		old, spared := cache.Key{Instance: 1, Message: 1}, cache.Key{Instance: 1, Message: 2}
		o.wish(t, old, spared)
		if err := o.store.Update(t.Context(), func(tx *store.Tx) error { return o.Linked(tx, 1, 2, 5) }); err != nil {
			t.Fatal(err)
		}
		o.onWay[5] = true
		o.Start()
		time.Sleep(30 * time.Minute)
		o.is(t, old, Stored, "", 1)
		time.Sleep(2 * time.Hour)
		o.is(t, old, Removed, ByRetention, 1)
		o.is(t, spared, Stored, "", 1)
		if r, _, _ := o.record(spared); !o.ExpiresAt(r).Equal(r.StoredAt.Add(time.Hour)) {
			t.Errorf("it expires at %v", o.ExpiresAt(r))
		}
		if err := o.store.Update(t.Context(), func(*store.Tx) error { o.onWay[5] = false; return nil }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		o.is(t, spared, Removed, ByRetention, 1)
		if got := o.Bytes(); len(got) != 0 {
			t.Errorf("%v bytes", got)
		}
	})
}

// TestHourOfAnUnloggedDelivery begins when its file was first to go, and again after another delivery.
func TestHourOfAnUnloggedDelivery(t *testing.T) {
	inBubble(t, func(c *Config) { c.Retention = time.Hour }, func(t *testing.T, o *origin) {
		o.unlogged = true
		key := cache.Key{Instance: 1, Message: 1}
		o.wish(t, key)
		if err := o.store.Update(t.Context(), func(tx *store.Tx) error { return o.Linked(tx, 1, 1, 5) }); err != nil {
			t.Fatal(err)
		}
		onWay := func(is bool) {
			if err := o.store.Update(t.Context(), func(*store.Tx) error { o.onWay[5] = is; return nil }); err != nil {
				t.Fatal(err)
			}
		}
		o.Start()
		time.Sleep(time.Hour + 30*time.Minute)
		onWay(true)
		time.Sleep(5 * time.Minute)
		onWay(false)
		time.Sleep(58 * time.Minute)
		o.is(t, key, Stored, "", 1)
		time.Sleep(10 * time.Minute)
		o.is(t, key, Removed, ByRetention, 1)
	})
}

// TestQuotaTakesFromLargestInstance, and warns once a minute when nothing may go.
func TestQuotaTakesFromLargestInstance(t *testing.T) {
	inBubble(t, func(c *Config) { c.MaxBytes = 4 * 11 }, func(t *testing.T, o *origin) {
		o.Start()
		step := func(keys ...cache.Key) {
			for _, key := range keys {
				o.wish(t, key)
				time.Sleep(2 * pollEvery)
			}
		}
		k := func(instance, message int64) cache.Key { return cache.Key{Instance: instance, Message: message} }
		step(k(2, 1), k(1, 2), k(1, 3), k(1, 4), k(2, 5))
		o.is(t, k(1, 2), Removed, ByQuota, 1) // although that of instance 2 is older
		o.is(t, k(2, 1), Stored, "", 1)
		o.is(t, k(2, 5), Stored, "", 1)
		for i, key := range []cache.Key{k(1, 3), k(1, 4), k(2, 1), k(2, 5)} {
			if err := o.store.Update(t.Context(), func(tx *store.Tx) error { return o.Linked(tx, key.Instance, key.Message, uint64(i+1)) }); err != nil {
				t.Fatal(err)
			}
			o.onWay[uint64(i+1)] = true
		}
		step(k(1, 6), k(2, 7), k(3, 8))
		for _, key := range []cache.Key{k(1, 6), k(2, 7), k(3, 8)} {
			o.is(t, key, Skipped, ByQuota, 1)
		}
		if n := strings.Count(o.log.String(), "raise media.store.max_bytes"); n != 1 {
			t.Errorf("%d warnings:\n%s", n, o.log.String())
		}
		time.Sleep(time.Minute)
		step(k(1, 9))
		if n := strings.Count(o.log.String(), "raise media.store.max_bytes"); n != 2 {
			t.Errorf("%d warnings a minute later", n)
		}
	})
}

func TestWhichFilesAreWished(t *testing.T) {
	inBubble(t, func(c *Config) { c.Wants = func(instance int64) bool { return instance != 9 } }, func(t *testing.T, o *origin) {
		status, channel, person := event.StatusBroadcast, "123@"+event.NewsletterServer, "49@s.whatsapp.net"
		for i, c := range []struct {
			chat     *string
			instance int64
			change   func(*event.Message)
			want     State
		}{
			{&person, 1, func(*event.Message) {}, Pending},
			{&status, 1, func(*event.Message) {}, ""},
			{&channel, 1, func(*event.Message) {}, ""},
			{&person, 9, func(*event.Message) {}, ""}, // storeMedia false
			{&person, 1, func(m *event.Message) { m.History = true }, ""},
			{&person, 1, func(m *event.Message) { m.MessageType = "conversation" }, ""},
			{&person, 1, func(m *event.Message) {
				m.Content = bytes.Replace(m.Content, []byte(`"fileLength":"11"`), []byte(`"fileLength":"1001"`), 1)
			}, Skipped},
		} {
			key := cache.Key{Instance: c.instance, Message: int64(i + 1)}
			m, _ := o.message(key.Instance, key.Message)
			m.KeyRemoteJID = c.chat
			c.change(&m)
			if err := o.store.Update(t.Context(), func(tx *store.Tx) error { return o.Wish(tx, key.Instance, &m) }); err != nil {
				t.Fatal(err)
			}
			if r, _, err := o.record(key); err != nil || r.State != c.want || c.want == Skipped && r.Reason != BySize {
				t.Errorf("%d: %+v %v, want %q", i, r, err, c.want)
			}
		}
	})
}
