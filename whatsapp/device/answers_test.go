package device

import (
	"slices"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/types"
)

// TestAnswerIsKeptForThirtyDays keeps answers over a restart and until 30 days after the look-up.
func TestAnswerIsKeptForThirtyDays(t *testing.T) {
	off := time.Duration(0)
	f := &file{path: t.TempDir() + "/data.db", now: func() time.Time { return time.Now().Add(off) }}
	f.open(t)
	t.Cleanup(func() { _ = f.Close() })
	const asked, other = "5511987650001", "5511987650002"
	answer := Answer{Number: "551187650001", LID: "100000000000001"}
	check(t, f.container.lids.PutLIDMapping(t.Context(), types.NewJID(answer.LID, types.HiddenUserServer), types.NewJID(answer.Number, types.DefaultUserServer)))
	check(t, f.container.KeepAnswers(t.Context(), map[string]Answer{asked: answer}))
	off = 20 * 24 * time.Hour
	check(t, f.Close())
	f.open(t)
	check(t, f.container.KeepAnswers(t.Context(), map[string]Answer{other: answer}))
	if got, kept := f.container.AnswerTo(asked); !kept || got != answer {
		t.Errorf("after 20 days: %+v, %t", got, kept)
	}
	lid, number := answer.JID(), answer.Number+"@s.whatsapp.net"
	for _, jid := range []string{lid, number, asked + "@s.whatsapp.net"} {
		name, all := f.container.Person(jid)
		if name != lid || !slices.Contains(all, lid) {
			t.Errorf("the person at %s is %s: %v", jid, name, all)
		}
	}
	for _, jid := range []string{lid, asked + "@s.whatsapp.net"} {
		if got := slices.Sorted(slices.Values(f.container.NumbersOf(jid))); !slices.Equal(got, []string{answer.Number, asked, other}) {
			t.Errorf("numbers of %s: %v", jid, got)
		}
	}
	if got := f.container.AccountOf(asked); got != answer.Number {
		t.Errorf("the account of %s is %s", asked, got)
	}
	off = 31 * 24 * time.Hour
	if _, kept := f.container.AnswerTo(asked); kept {
		t.Error("kept after 31 days")
	}
	check(t, f.container.KeepAnswers(t.Context(), nil))
	f.container.answers.swept = time.Time{}
	check(t, f.container.KeepAnswers(t.Context(), nil))
	if got := f.container.NumbersOf(lid); !slices.Equal(slices.Sorted(slices.Values(got)), []string{answer.Number, other}) || len(f.container.answers.known) != 1 {
		t.Errorf("after the sweep: %v, %v", got, f.container.answers.known)
	}
}

// TestAddressesOfAnAccountWithoutANumber looks up a number that WhatsApp answered with a LID only.
func TestAddressesOfAnAccountWithoutANumber(t *testing.T) {
	f := &file{path: t.TempDir() + "/data.db", now: time.Now}
	f.open(t)
	t.Cleanup(func() { _ = f.Close() })
	check(t, f.container.KeepAnswers(t.Context(), map[string]Answer{"5511987654321": {LID: "77"}}))
	want := []string{"5511987654321@s.whatsapp.net", "77@lid"}
	for _, jid := range want {
		if got := slices.Sorted(slices.Values(f.container.AddressesOf(jid))); !slices.Equal(got, want) {
			t.Errorf("addresses of %s: %v", jid, got)
		}
	}
}
