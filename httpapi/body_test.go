package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"postern/event"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
)

// TestIgnoredFieldNamesCannotBreakTheHeader, nor be invisible in it: the caller chooses them.
func TestIgnoredFieldNamesCannotBreakTheHeader(t *testing.T) {
	read := func(body string) string {
		o := strict.Options{Ignored: &strict.Ignored{}}
		if err := strict.Decode(strings.NewReader(body), &struct{}{}, o); err != nil {
			t.Fatal(err)
		}
		return rest.IgnoredHeader(o.Ignored)
	}
	if got := read(`{"x":{"y":[1]},"z":null}`); got != `299 - "ignored unknown fields: x, z"` {
		t.Error(got)
	}
	var hostile strings.Builder
	for i := range 1000 {
		hostile.WriteString(`,"\r\nSet-Cookie: a=` + strings.Repeat("ü", i) + `":1`)
	}
	got := read("{" + hostile.String()[1:] + "}")
	if len(got) > 6*strict.MaxIgnored*(strict.MaxIgnoredName+8) || strings.Trim(got, printableASCII()) != "" || !strings.HasSuffix(got, ` and 980 more"`) {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func printableASCII() string {
	var all strings.Builder
	for b := ' '; b <= '~'; b++ {
		all.WriteRune(b)
	}
	return all.String()
}

// TestCallersDataIsNoFile, whatever its fields are called.
func TestCallersDataIsNoFile(t *testing.T) {
	r, token, _ := sender(t)
	for _, name := range []string{"media", "audio", "sticker"} {
		for _, n := range []int{64, 65} {
			given := fmt.Sprintf(`{"%s":"%s","more":[{"%[1]s":"%[2]s"}]}`, name, strings.Repeat("0123456789abcdef", 5)[:n])
			sent := decoded[event.Message](t, r.as(token, "POST", sendPath, strings.TrimSuffix(hello, "}")+`,"options":{"externalAttributes":`+given+`}}`))
			rec, err := r.registry.ByName("a")
			if err != nil {
				t.Fatal(err)
			}
			kept, err := r.messages.Message(rec.ID, sent.ID)
			if err != nil || string(sent.ExternalAttributes) != given || string(kept.ExternalAttributes) != given {
				t.Errorf("%v: %s, stored %s, given %s", err, sent.ExternalAttributes, kept.ExternalAttributes, given)
			}
		}
	}
}
