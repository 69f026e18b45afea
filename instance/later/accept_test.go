package later

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/instance"
	"postern/store"
)

func TestDeleteRemovesTheSend(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key := r.in(id, time.Hour)
		if err := r.s.Delete(bg, id+1, key, nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("of another instance: %v", err)
		}
		refused := errors.New("no")
		if err := r.s.Delete(bg, id, key, func(string) error { return refused }); !errors.Is(err, refused) {
			t.Error(err)
		}
		if err := r.s.Delete(bg, id, key, nil); err != nil {
			t.Error(err)
		}
		if err := r.s.Delete(bg, id, key, nil); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
		time.Sleep(2 * time.Hour)
		r.wantQuiet()
		r.wantEmpty()
	})
}

func TestDeleteBeforeTheMessageLeavesKeepsIt(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key := r.in(id, time.Hour, func(d *Send) { d.Out.Delay = time.Minute })
		time.Sleep(time.Hour + time.Second)
		if err := r.s.Delete(bg, id, key, nil); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		r.wantQuiet()
		if got := r.arrivals(); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		r.wantEmpty()
	})
}

func TestDeleteIsRefusedOnceBegun(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.onSend = func(ctx context.Context, _ event.Outgoing) error {
			wait(ctx, time.Minute)
			return nil
		}
		id := r.instance("a", true)
		key := r.in(id, time.Hour)
		time.Sleep(time.Hour + time.Second)
		if err := r.s.Delete(bg, id, key, nil); !errors.Is(err, ErrBegun) {
			t.Error(err)
		}
		if page, err := r.s.List(bg, id, Query{Limit: 5}); err != nil || len(page.Sends) != 1 || !page.Sends[0].Begun {
			t.Errorf("%+v, %v", page, err)
		}
		time.Sleep(time.Minute)
		r.wantSent(key)
	})
}

func TestDeletedInstanceLeavesNothing(t *testing.T) {
	for name, after := range map[string]time.Duration{"before its time": time.Hour, "while it waits": -time.Second} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(r *rig) {
				id := r.instance("a", false)
				for range 10 {
					r.in(id, time.Minute, r.file(700_000))
				}
				time.Sleep(time.Minute - after)
				synctest.Wait()
				if err := r.reg.Delete(bg, id, true); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				r.wantEmpty()
				time.Sleep(time.Hour)
				r.wantQuiet()
				if _, err := r.accept(id, time.Hour, r.file(5)); !errors.Is(err, instance.ErrNotFound) {
					t.Error(err)
				}
				r.wantEmpty()
			})
		})
	}
}

func TestLimitsOfTheScheduler(t *testing.T) {
	inBubble(t, func(c *Config) { c.Max, c.MaxBytes = 3, 4*pieceSize }, func(r *rig) {
		id, other := r.instance("a", true), r.instance("b", true)
		for range 2 {
			r.in(id, time.Hour)
		}
		first := r.in(id, time.Hour, r.file(3*pieceSize))
		if _, err := r.accept(id, time.Hour); !errors.Is(err, ErrTooMany) || !strings.Contains(err.Error(), "message.scheduled.max)") {
			t.Error(err)
		}
		if _, err := r.accept(other, time.Hour, r.file(pieceSize+1)); !errors.Is(err, ErrTooMany) || !strings.Contains(err.Error(), "message.scheduled.max_bytes") {
			t.Error(err)
		}
		r.in(other, time.Hour, r.file(pieceSize))
		r.restart() // the counts are those of the file
		if _, err := r.accept(other, time.Hour, r.file(1)); !errors.Is(err, ErrTooMany) {
			t.Error(err)
		}
		if err := r.s.Delete(bg, id, first, nil); err != nil {
			t.Error(err)
		}
		r.in(id, time.Hour, r.file(3*pieceSize))
	})
}

func TestListIsInOrderOfTime(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		r.in(r.instance("b", true), time.Hour)
		var want []uuid.UUID
		for i := range 7 {
			want = append(want, r.in(id, time.Hour+time.Duration(i)*time.Minute))
		}
		var got []uuid.UUID
		q := Query{Limit: 3}
		for {
			page, err := r.s.List(bg, id, q)
			if err != nil || page.Total != 7 {
				t.Fatal(page, err)
			}
			for _, one := range page.Sends {
				got = append(got, one.ID)
			}
			if (q.After == uuid.Nil) != (page.Previous == uuid.Nil) {
				t.Errorf("previous of the page after %s is %s", q.After, page.Previous)
			}
			if page.Next == uuid.Nil {
				break
			}
			q.After = page.Next
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", got, want)
		}
		page, err := r.s.List(bg, id, Query{Limit: 3, Before: want[6]})
		if err != nil || len(page.Sends) != 3 || page.Sends[0].ID != want[3] || page.Previous != want[3] || page.Next != want[5] {
			t.Errorf("%+v, %v", page, err)
		}
	})
}

func TestRejectedCommitLeavesNothing(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		no := errors.New("no")
		_, err := r.accept(id, time.Hour, r.file(600_000), func(d *Send) { d.InCommit = func(*store.Tx, uuid.UUID) error { return no } })
		if !errors.Is(err, no) {
			t.Error(err)
		}
		r.wantEmpty()
	})
}

func TestNothingIsAcceptedOnAFullDisk(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		r.stop()
		r.minFree = math.MaxUint64
		r.boot()
		if _, err := r.accept(id, time.Hour, r.file(600_000)); !errors.Is(err, store.ErrDiskFull) {
			t.Error(err)
		}
		r.wantEmpty()
	})
}

func TestAllKindsOfContentSurviveTheFile(t *testing.T) {
	quoted := &event.Original{Key: event.MessageKey{RemoteJID: "1@s.whatsapp.net", ID: "X"}, MessageType: "conversation", Content: []byte(`{"text":"a"}`)}
	for _, c := range []event.Content{
		{Text: &event.TextContent{Text: "a"}},
		{Link: &event.LinkContent{Link: "https://example.org", Title: "t", Description: "d", ThumbnailURL: "https://example.org/a.jpg"}},
		{Media: &event.Media{Kind: event.MediaImage, URL: "https://example.org/a.jpg", Caption: "c", ViewOnce: true}},
		{Media: &event.Media{Kind: event.MediaVoice, UploadID: "17", Seconds: 3, Waveform: "AAAA"}},
		{Contacts: []event.ContactContent{{FullName: "Ada", PhoneNumber: "4915"}}},
		{Location: &event.LocationContent{Latitude: 1.5, Longitude: 2.5, Name: "n"}},
		{Reaction: &event.ReactionContent{Key: quoted.Key, Reaction: "👍"}},
		{Poll: &event.PollContent{Name: "n", Options: []string{"a", "b"}, SelectableCount: 1}},
		{Status: &event.StatusContent{Text: "t", BackgroundColor: "#ffffff"}},
		{Forward: quoted},
	} {
		inBubble(t, nil, func(r *rig) {
			var got event.Outgoing
			r.before = func(_ context.Context, out event.Outgoing) error {
				got = out
				return nil
			}
			id := r.instance("a", true)
			want := event.Outgoing{ID: "I", To: "1@g.us", Content: c, Presence: event.PresenceComposing, Delay: time.Second, Quoted: quoted, MentionAll: true}
			r.in(id, time.Hour, func(d *Send) { d.Out = want })
			time.Sleep(time.Hour + time.Minute)
			got.By, got.Leaving, got.Left, got.Turn = 0, nil, nil, nil
			if a, b := asText(t, got), asText(t, want); a != b {
				t.Errorf("sent %s, want %s", a, b)
			}
		})
	}
}

func asText(t *testing.T, out event.Outgoing) string {
	t.Helper()
	raw, err := store.EncodeJSON(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestAcceptAndDeleteAtOnce deletes sends while others are accepted.
func TestAcceptAndDeleteAtOnce(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		var work sync.WaitGroup
		for i := range 20 {
			work.Go(func() {
				key, err := r.accept(id, time.Duration(i)*time.Millisecond, to(fmt.Sprintf("%d@s.whatsapp.net", i)))
				if err != nil {
					t.Error(err)
				}
				_ = r.s.Delete(bg, id, key, nil)
			})
		}
		work.Wait()
		time.Sleep(time.Minute)
		r.wantEmpty()
	})
}
