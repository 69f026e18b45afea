package plural

import "testing"

func TestNounFitsTheNumber(t *testing.T) {
	for want, got := range map[string]string{
		"0 instances": Of(0, "instance"), "1 instance": Of(1, "instance"), "2 instances": Of(2, "instance"), "1 batch": Of(1, "batch"), "3 batches": Of(uint64(3), "batch"),
		"2 identities": Of(2, "identity"), "2 keys": Of(2, "key"), "2 proxies": Of(2, "proxy"), "1 is missing": Of(1, "is missing", "are missing"), "5 are missing": Of(int64(5), "is missing", "are missing"),
		"2 indexes": Of(2, "index"), "-1 records": Of(-1, "record"), "paired accounts go": Noun(2, "paired account goes", "paired accounts go"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
