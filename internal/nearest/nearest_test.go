package nearest

import "testing"

func TestOfFindsTheClosestName(t *testing.T) {
	words := []string{"messagesUpsert", "messagesUpdated", "chatsUpdated", "presenceUpdated"}
	for in, want := range map[string]string{
		"messageUpsert": "messagesUpsert", "MESSAGESUPSERT": "messagesUpsert", "chatUpdate": "chatsUpdated", "": "chatsUpdated",
		"presenceUpdated": "presenceUpdated",
	} {
		if got := Of(in, words); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if Of("x", nil) != "" {
		t.Error("a word without candidates")
	}
}

func TestMeantNeedsAFewEdits(t *testing.T) {
	words := []string{"serve", "demo", "sandbox", "token", "config", "listen", "schema", "version"}
	for in, want := range map[string]string{
		"sevre": "serve", "srve": "serve", "dmeo": "demo", "tokn": "token", "vers": "version", "sandboxx": "sandbox", "lsiten": "listen",
		"backup": "", "frobnicate": "", "x": "", "": "", "help-me": "", "start": "",
	} {
		got, ok := Meant(in, words)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v, want %q", in, got, ok, want)
		}
	}
}
