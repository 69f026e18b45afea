package translate

import (
	"strings"
	"testing"

	"go.mau.fi/whatsmeow"
)

func TestDeviceFromMessageID(t *testing.T) {
	hex := func(prefix string, n int) string { return prefix + strings.Repeat("B", n-len(prefix)) }
	for id, want := range map[string]string{
		hex("3A", 20):   "ios",
		hex("3A", 22):   "",
		hex("3EB0", 22): "web",
		hex("3E", 22):   "web",
		hex("3EB0", 20): "",
		whatsmeow.WebMessageIDPrefix + strings.Repeat("0", 18): "web", // ours
		hex("", 32):                        "android",
		hex("3A", 32):                      "android",
		hex("a", 21):                       "android",
		hex("3F", 12):                      "desktop",
		hex("3f", 12):                      "",
		hex("", 18):                        "desktop",
		hex("", 20):                        "",
		"":                                 "",
		"3F":                               "",
		"no hexadecimal digits, but 32 bt": "",
		strings.Repeat("\xff", 21):         "",
	} {
		got := ""
		if d := deviceName(id); d != nil {
			got = *d
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", id, got, want)
		}
	}
}
