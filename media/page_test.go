package media

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzPageOfAStranger reads pages of any content: texts are short, on one line, and valid UTF-8.
func FuzzPageOfAStranger(f *testing.F) {
	f.Add([]byte(`<meta charset=windows-1251><title>`+"\xcf\xf0"+`</title>`), "text/html")
	f.Add([]byte(`<meta property=og:title content="a`+"\x00\n"+`b"><meta property=og:image content="//x/y">`), "text/html; charset=utf-8")
	f.Fuzz(func(t *testing.T, body []byte, kind string) {
		at, err := url.Parse("https://example.org/a/b")
		if err != nil {
			t.Fatal(err)
		}
		p, err := previewIn(page{at: at, contentType: kind, body: body})
		if err != nil {
			return
		}
		for _, text := range []string{p.Title, p.Description} {
			if !utf8.ValidString(text) || utf8.RuneCountInString(text) > maxPageText || strings.ContainsAny(text, "\r\n\t\x00") {
				t.Errorf("%q", text)
			}
		}
	})
}
