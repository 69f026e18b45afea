package proxy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"postern/whatsapp/proxy"
)

func TestProxyURLRules(t *testing.T) {
	for url, shown := range map[string]string{
		"http://proxy.example.org:3128":            "http://proxy.example.org:3128",
		"http://proxy.example.org":                 "http://proxy.example.org:80",
		"https://proxy.example.org/":               "https://proxy.example.org:443",
		"socks5://10.0.0.1":                        "socks5://10.0.0.1:1080",
		"socks5://[fd00::1]:9050":                  "socks5://[fd00::1]:9050",
		"http://user:pa55word@proxy.example.org":   "http://user:***@proxy.example.org:80",
		"http://user@proxy.example.org":            "http://user@proxy.example.org:80",
		"http://key:@proxy.example.org":            "http://key:***@proxy.example.org:80",
		"http://us%40er:p%40ss@proxy.example.org":  "http://us%40er:***@proxy.example.org:80",
		"socks5://user:pa55word@proxy.example.org": "socks5://user:***@proxy.example.org:1080",
	} {
		s, err := proxy.Parse(url)
		if err != nil || s.URL() != shown {
			t.Errorf("%s is %s (%v), want %s", url, s.URL(), err, shown)
		}
	}
	for _, url := range []string{
		"", "proxy.example.org:3128", "//proxy.example.org", "ftp://proxy.example.org", "socks5h://proxy.example.org", "HTTP//x", "http://",
		"http://:3128", "http://user:pa55word@:3128", "http://proxy.example.org:0", "http://proxy.example.org:65536", "http://proxy.example.org:",
		"http://proxy.example.org:pa55word", "http://proxy.example.org/pa55word", "http://proxy.example.org/?pa55word", "http://proxy.example.org/?",
		"http://proxy.example.org/#pa55word", "http://us er:pa55word@proxy.example.org", "http://us%0Aer:pa55word@proxy.example.org",
		"http://user:pa55word%0d%0a@proxy.example.org", "http://us%3Aer:pa55word@proxy.example.org", "http://user:***@proxy.example.org",
		"http://user:%2A%2A%2A@proxy.example.org", "socks5://:pa55word@proxy.example.org", "socks5://" + strings.Repeat("u", 256) + "@proxy.example.org",
		"socks5://user:" + strings.Repeat("p", 256) + "@proxy.example.org", "http://" + strings.Repeat("a", 500) + ".example.org",
		"http://user:pa55word@proxy.example.org:3128\n", "http://%zz:pa55word@proxy.example.org", "http://user-{instance}:pa55word@proxy.example.org",
	} {
		s, err := proxy.Parse(url)
		if err == nil {
			t.Errorf("%q is accepted as %v", url, s)
			continue
		}
		if !s.IsZero() || strings.Contains(err.Error(), "pa55word") {
			t.Errorf("%q: %v, and %v", url, err, s)
		}
	}
}

func TestAProxyIsPrintedWithoutItsPassword(t *testing.T) {
	s := parse(t, "http://someone:pa55word@proxy.example.org:3128")
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+" ", s)
		fmt.Fprintf(&out, verb+" ", &s)
		fmt.Fprintf(&out, verb+" ", struct{ S proxy.Server }{s})
		fmt.Fprintf(&out, verb+" ", []proxy.Server{s})
	}
	for _, verb := range []string{"%v", "%+v", "%#v"} { // of what holds one in a field that is not exported
		fmt.Fprintf(&out, verb+" ", struct{ s proxy.Server }{s})
		fmt.Fprintf(&out, verb+" ", &struct{ s []proxy.Server }{[]proxy.Server{s}})
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "proxy", s)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "proxy", s)
	encoded, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(encoded)
	for _, secret := range []string{"pa55word", fmt.Sprintf("%x", "pa55word"), "someone"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%s is in %s", secret, out.String())
		}
	}
}

func FuzzTheURLOfAProxy(f *testing.F) {
	f.Add("http://user:pa55word@proxy.example.org:3128")
	f.Add("socks5://[fd00::1]:9050")
	f.Add("https://a%40b:@h/")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := proxy.Parse(text)
		if err != nil {
			if !s.IsZero() {
				t.Errorf("%q is refused and half read", text)
			}
			return
		}
		if again, err := proxy.Parse(s.String()); err != nil || again.Address() != s.Address() {
			t.Errorf("%q has the address %q, which reads as %q (%v)", text, s.Address(), again.Address(), err)
		}
	})
}
