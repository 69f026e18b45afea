package batch

import (
	"encoding/base64"
	"errors"
	"testing"

	"postern/event"
)

func TestCursorIsValidForItsListOnly(t *testing.T) {
	bubble(t, newFleet(1), func(r *rig) {
		r.create(request(3))
		r.status(event.BatchIsCompleted)
		first, second := r.batch, request(6)
		second.Recipients = second.Recipients[3:]
		r.create(second)
		r.status(event.BatchIsCompleted)

		lists := map[string]func(Page) (*string, error){
			"batches": func(p Page) (*string, error) {
				l, err := r.e.Batches(owner, Filter{}, p)
				return l.NextCursor, err
			},
			"items": func(p Page) (*string, error) {
				l, err := r.e.Items(owner, r.batch, ItemFilter{}, p)
				return l.NextCursor, err
			},
			"items of another batch": func(p Page) (*string, error) {
				l, err := r.e.Items(owner, first, ItemFilter{}, p)
				return l.NextCursor, err
			},
			"attempts": func(p Page) (*string, error) {
				l, err := r.e.Attempts(owner, r.batch, ItemFilter{}, p)
				return l.NextCursor, err
			},
		}
		foreign := map[string]string{
			"nothing": base64.RawURLEncoding.EncodeToString(make([]byte, 4)),
			"a word":  base64.RawURLEncoding.EncodeToString([]byte("hello, world")),
			"a UUID":  base64.RawURLEncoding.EncodeToString(owner[:]),
		}
		for name, list := range lists {
			next, err := list(Page{Limit: 1})
			if err != nil || next == nil {
				t.Fatalf("%s: %v, cursor %v", name, err, next)
			}
			foreign[name] = *next
		}
		for name, list := range lists {
			for from, cursor := range foreign {
				for _, p := range []Page{{Limit: 1, Next: cursor}, {Limit: 1, Previous: cursor}} {
					_, err := list(p)
					if got := errors.Is(err, ErrInvalidCursor); got == (from == name) {
						t.Errorf("%s with the cursor of %s: %v", name, from, err)
					}
				}
			}
		}
	})
}
