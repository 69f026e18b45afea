package httpapi

import (
	"strings"
	"testing"

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
