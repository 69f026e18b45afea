package display

import (
	"mime"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNamesAreSafe(t *testing.T) {
	for _, c := range []struct{ sent, declared, want string }{
		{"Übersicht 2026.pdf", "", "Übersicht 2026.pdf"},
		{"../../etc/passwd", "", "___.._etc_passwd"},
		{`C:\boot.ini`, "", "C__boot.ini"},
		{"a\r\nX-Evil: 1\".txt", "", "a__X-Evil_ 1_.txt"},
		{"invoice\u202efdp.exe", "", "invoice_fdp.exe"},
		{"it's `a` \"b\"", "", "it_s _a_ _b_"},
		{".htaccess", "", "_htaccess"},
		{"x.txt. .", "", "x.txt___"},
		{"con", "", "_con"},
		{"NUL.txt", "", "_NUL.txt"},
		{"com1 .log", "", "_com1 .log"},
		{"console.log", "", "console.log"},
		{"👨‍👩‍👧.png", "", "👨‍👩‍👧.png"},
		{"", "image/jpeg", "image-7.jpg"},
		{"", "image/jpeg; q=1", "image-7.jpg"},
		{"", "text/html", "image-7.bin"},
		{"", "a/b\r\nX: 1", "image-7.bin"},
		{"...", "audio/ogg; codecs=opus", "image-7.ogg"},
		{" / ", "video/mp4", "image-7.mp4"},
	} {
		if got := nameOf(c.sent, "image", 7, c.declared); got != c.want {
			t.Errorf("%q: %q, want %q", c.sent, got, c.want)
		}
	}
}

func TestLongNamesKeepTheirExtension(t *testing.T) {
	for _, c := range []struct{ name, ends string }{
		{strings.Repeat("x", 5000) + ".pdf", "x.pdf"},
		{strings.Repeat("ä", 300) + ".tar", "ä.tar"},
		{"a." + strings.Repeat("x", 4096), "x"},
		{"con." + strings.Repeat("y", 194) + ".txt", "y.txt"},
	} {
		got := nameOf(c.name, "document", 1, "")
		if len(got) > maxName || !strings.HasSuffix(got, c.ends) || !utf8.ValidString(got) {
			t.Errorf("%.20s: %q (%d bytes)", c.name, got, len(got))
		}
	}
}

func FuzzName(f *testing.F) {
	f.Add("../a\r\nb\u202e.txt")
	f.Add("aux.h\xff")
	f.Fuzz(func(t *testing.T, sent string) {
		name := nameOf(sent, "image", 1, "image/png")
		if name == "" || len(name) > maxName || strings.ContainsAny(name, "/\\:\"'\r\n\x00\u202e") || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") || reserved(name) {
			t.Errorf("%q", name)
		}
		how, params, err := mime.ParseMediaType(Disposition("inline", name))
		if err != nil || how != "inline" || params["filename"] != name {
			t.Errorf("%q: %v %v", name, params, err)
		}
		for _, b := range []byte(Disposition("inline", name)) {
			if b < ' ' || b > '~' {
				t.Fatalf("byte %#x", b)
			}
		}
	})
}
