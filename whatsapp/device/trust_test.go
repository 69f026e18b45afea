package device

import (
	"testing"
	"time"

	wastore "go.mau.fi/whatsmeow/store"
)

func TestTrustLastsAsLongAsThePrivacyToken(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1).(both)
	week := time.Unix(2000*7*24*3600, 0)
	trusted := func(instance int64, now time.Time) bool {
		t.Helper()
		got, err := f.container.Trusted(instance, phone.User, now)
		check(t, err)
		return got
	}
	put := func(value string, at time.Time) {
		t.Helper()
		check(t, s.PutPrivacyTokens(t.Context(), wastore.PrivacyToken{User: lid, Token: []byte(value), Timestamp: at}))
	}
	if trusted(1, week) {
		t.Error("trusted without a token")
	}
	check(t, s.PutLIDMapping(t.Context(), lid, phone))
	put("", week)
	if trusted(1, week) {
		t.Error("trusted by an empty token")
	}
	put("t", week.Add(time.Hour))
	last := week.Add(28*24*time.Hour - time.Second)
	if !trusted(1, week.Add(time.Hour)) || !trusted(1, last) {
		t.Error("not trusted in the weeks of the token")
	}
	if trusted(1, last.Add(time.Second)) {
		t.Error("trusted in the week after them")
	}
	if trusted(2, week.Add(time.Hour)) {
		t.Error("another instance is trusted")
	}
}
