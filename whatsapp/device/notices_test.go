package device

import (
	"slices"
	"testing"
)

func TestNoticeIsKeptUntilDroppedOrUnpaired(t *testing.T) {
	f := newFile(t)
	f.pair(t, 1, jidOne)
	c, ctx := f.container, t.Context()
	check(t, c.KeepNotice(ctx, 1, "A", "", []byte("first")))
	check(t, c.KeepNotice(ctx, 1, "A", "call", []byte("again")))
	check(t, c.KeepNotice(ctx, 1, "B", "call-2", []byte("second")))
	check(t, c.KeepNotice(ctx, 2, "A", "", []byte("of no device")))
	kept := func(instance int64) []string {
		t.Helper()
		ids, err := c.Notices(instance)
		check(t, err)
		return ids
	}
	raw, call, err := c.Notice(1, "A")
	check(t, err)
	if other, called, err := c.Notice(1, "B"); string(other) != "second" || called != "call-2" || err != nil {
		t.Errorf("%q of %q (%v)", other, called, err)
	}
	if string(raw) != "first" || call != "" || !slices.Equal(kept(1), []string{"A", "B"}) || len(kept(2)) != 0 {
		t.Errorf("%q, %q, %q", raw, kept(1), kept(2))
	}
	check(t, c.DropNotice(ctx, 1, "A"))
	if raw, _, err := c.Notice(1, "A"); raw != nil || err != nil || !slices.Equal(kept(1), []string{"B"}) {
		t.Errorf("%q, %q (%v)", raw, kept(1), err)
	}
	check(t, c.Delete(ctx, 1))
	if len(kept(1)) != 0 {
		t.Errorf("%q outlive their device", kept(1))
	}
}

func TestKnownAddressPairIsReported(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1).(both)
	if got := f.container.Twin(phone.String()); got != "" {
		t.Errorf("before: %q", got)
	}
	check(t, s.PutLIDMapping(t.Context(), lid, phone))
	for from, to := range map[string]string{
		phone.String(): lid.String(), lid.String(): phone.String(), "12@g.us": "", "status@broadcast": "", "": "", "@": "",
	} {
		if got := f.container.Twin(from); got != to {
			t.Errorf("%q has %q, want %q", from, got, to)
		}
	}
}
