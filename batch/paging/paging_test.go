package paging

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"postern/store"
)

// letters is a list of the given letters; a row in which shown has none costs as much as
// the others.
func letters(all, shown string) Query[string] {
	rows := func(_ *store.Tx, at []byte, back bool, fn func(Row[string]) (bool, error)) error {
		keys := []byte(all)
		if back {
			slices.Reverse(keys)
		}
		for _, k := range keys {
			if side := bytes.Compare([]byte{k}, at); at != nil && (back && side >= 0 || !back && side <= 0) {
				continue
			}
			r := Row[string]{First: []byte{k}, Last: []byte{k}, Cost: 1}
			if bytes.IndexByte([]byte(shown), k) >= 0 {
				r.Lines = []Line[string]{{At: []byte{k}, Value: string(k)}}
			}
			if more, err := fn(r); err != nil || !more {
				return err
			}
		}
		return nil
	}
	return Query[string]{List: "letters", Total: UnknownTotal, Rows: rows}
}

func TestPagesShowEachLineOnce(t *testing.T) {
	const all = "abcdefghijklm"
	for _, shown := range []string{"", "a", "m", "bcd", "acegikm", all} {
		for most := 1; most < 15; most++ {
			for limit := 1; limit < 15; limit++ {
				q := letters(all, shown)
				q.Most = most
				forth, end := walk(t, q, Page{Limit: limit}, func(l List[string], p *Page) *string { p.Next = deref(l.NextCursor); return l.NextCursor })
				if forth != shown {
					t.Fatalf("%q, %d of a page, %d looked at: forward %q", shown, limit, most, forth)
				}
				if end.PreviousCursor == nil {
					continue // one page
				}
				before := shown[:len(shown)-len(end.Records)]
				back, _ := walk(t, q, Page{Limit: limit, Previous: *end.PreviousCursor}, func(l List[string], p *Page) *string {
					p.Previous = deref(l.PreviousCursor)
					return l.PreviousCursor
				})
				if back != before {
					t.Fatalf("%q, %d of a page, %d looked at: backward %q, want %q", shown, limit, most, back, before)
				}
			}
		}
	}
}

// walk reads pages until there is no cursor, and returns their lines in order.
func walk(t *testing.T, q Query[string], p Page, step func(List[string], *Page) *string) (lines string, last List[string]) {
	t.Helper()
	for range 100 {
		l, err := q.Page(nil, p)
		if err != nil {
			t.Fatal(err)
		}
		part := ""
		for _, r := range l.Records {
			part += r
		}
		if p.Previous != "" {
			lines = part + lines
		} else {
			lines += part
		}
		if step(l, &p) == nil {
			return lines, l
		}
	}
	t.Fatal("the pages do not end")
	return "", last
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func TestCursorOfAnotherListIsRefused(t *testing.T) {
	q := letters("abc", "abc")
	l, err := q.Page(nil, Page{Limit: 1})
	if err != nil || l.NextCursor == nil {
		t.Fatal(err, l)
	}
	other := q
	other.List = "words"
	for _, c := range []struct {
		what string
		q    Query[string]
		p    Page
	}{
		{"another list", other, Page{Next: *l.NextCursor}},
		{"both directions", q, Page{Next: *l.NextCursor, Previous: *l.NextCursor}},
		{"no base64", q, Page{Next: "!"}},
	} {
		if _, err := c.q.Page(nil, c.p); !errors.Is(err, ErrInvalidCursor) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
