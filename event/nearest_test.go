package event

import "testing"

func TestNearestFindsWhatWasMeant(t *testing.T) {
	words := []string{"messagesUpsert", "messagesUpdated", "chatsUpdated", "presenceUpdated"}
	for in, want := range map[string]string{
		"messageUpsert": "messagesUpsert", "MESSAGESUPSERT": "messagesUpsert", "chatUpdate": "chatsUpdated", "": "chatsUpdated",
		"presenceUpdated": "presenceUpdated",
	} {
		if got := Nearest(in, words); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if Nearest("x", nil) != "" {
		t.Error("a word without candidates")
	}
}
