package alerts

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"postern/event"
)

var update = flag.Bool("update", false, "rewrite the texts in testdata")

func read(t *testing.T, raw string) *Notification {
	t.Helper()
	var n Notification
	if err := json.Unmarshal([]byte(raw), &n); err != nil {
		t.Fatal(err)
	}
	if err := n.Check(); err != nil {
		t.Fatal(err)
	}
	return &n
}

func all(n *Notification) (which []int) {
	for i := range n.Alerts {
		which = append(which, i)
	}
	return which
}

// TestWhatMonitoringPostsBecomesAReadableText compares the text of each body in testdata, as Alertmanager, Grafana and Uptime Kuma
// post them, with the file beside it.
func TestWhatMonitoringPostsBecomesAReadableText(t *testing.T) {
	bodies, err := filepath.Glob("testdata/*.json")
	if err != nil || len(bodies) < 8 {
		t.Fatal(bodies, err)
	}
	for _, path := range bodies {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n := read(t, string(raw))
		got := n.Text(all(n)) + "\n"
		if again := n.Text(all(n)) + "\n"; again != got {
			t.Errorf("%s: the second text is another one", path)
		}
		golden := strings.TrimSuffix(path, ".json") + ".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || !bytes.Equal(want, []byte(got)) {
			t.Errorf("%s (%v):\n%s", path, err, got)
		}
	}
}

func alert(i int, more string) string {
	return fmt.Sprintf(`{"status":"firing","labels":{"alertname":"Down","instance":"host-%d"},"startsAt":"2026-11-20T10:00:00Z","fingerprint":"f%d"%s}`, i, i, more)
}

// TestTextLimitsShowOmissions for any amount of text.
func TestTextLimitsShowOmissions(t *testing.T) {
	var many []string
	for i := range MaxAlerts {
		many = append(many, alert(i, ""))
	}
	n := read(t, `{"alerts":[`+strings.Join(many, ",")+`]}`)
	text := n.Text(all(n))
	if c := utf8.RuneCountInString(text); c > maxText+100 || !strings.HasSuffix(text, fmt.Sprintf("and %d more", MaxAlerts-maxShown)) || strings.Count(text, iconFiring) != 1+maxShown {
		t.Errorf("%d characters:\n%s", c, text)
	}
	if text := n.Text([]int{1, 3}); !strings.Contains(text, "2 firing") || !strings.Contains(text, "host-3") || strings.Contains(text, "host-2") {
		t.Errorf("of two:\n%s", text)
	}
	if text := n.Text([]int{7}); !strings.HasPrefix(text, iconFiring+" *Down*\ninstance: host-7") {
		t.Errorf("of one:\n%s", text)
	}
	long := strings.Repeat("w", 5000)
	for range 3 {
		many[0] = alert(0, `,"annotations":{"summary":"`+long+`","description":"`+long+`d"}`)
		many = append(many[:1], many[0], many[0], many[0], many[0], many[0])
	}
	n = read(t, `{"alerts":[`+strings.Join(many, ",")+`],"truncatedAlerts":3}`)
	text = n.Text(all(n))
	if c := utf8.RuneCountInString(text); c > maxText+100 || !strings.Contains(text, "more") || !strings.HasSuffix(text, "and 3 that the sender left out") {
		t.Errorf("%d characters:\n%s", c, text)
	}
}

// TestHostileBodiesMakeNoHostileTexts: thousands of labels, values of a megabyte, control characters and marks that reverse the
// direction of a text.
func TestHostileBodiesMakeNoHostileTexts(t *testing.T) {
	labels := map[string]string{"alertname": "a*b\x00\u202egnp.exe\u2066\n\n*c", "severity": strings.Repeat("\n", 1000) + "x"}
	for i := range 3000 {
		labels[fmt.Sprintf("label%d\r\n", i)] = strings.Repeat("v\t", 10)
	}
	labels["huge"] = strings.Repeat("😀", 200_000)
	raw, err := json.Marshal(map[string]any{"alerts": []any{map[string]any{"labels": labels, "startsAt": "yesterday", "endsAt": "\x01", "generatorURL": "https://example.org/\u202e"}}})
	if err != nil {
		t.Fatal(err)
	}
	n := read(t, string(raw))
	text := n.Text(all(n))
	for _, r := range text {
		if r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			t.Errorf("the text has %U", r)
		}
	}
	if utf8.RuneCountInString(text) > maxText || !utf8.ValidString(text) || !strings.HasPrefix(text, iconFiring+" *ab gnp.exe c*\nseverity: x · huge: 😀") || strings.Contains(text, "https") {
		t.Errorf("%.500s", text)
	}
	n = read(t, `{"message":"`+strings.Repeat(`\n`, 100_000)+strings.Repeat(`x\u0000\u2028`, 10_000)+`"}`)
	if text := n.Text(nil); utf8.RuneCountInString(text) > maxMessage || !strings.HasPrefix(text, "x x x") {
		t.Errorf("%.500q", text)
	}
}

// TestBodyWithoutTextIsRefused with the rule.
func TestBodyWithoutTextIsRefused(t *testing.T) {
	for body, rule := range map[string]string{
		`{}`: "title or message", `{"alerts":[]}`: "at least one entry", `{"title":" \n","message":"\u200b"}`: "title or message",
		`{"alerts":[` + strings.Repeat("{},", MaxAlerts) + `{}]}`: "at most 2000 entries",
	} {
		var n Notification
		if err := json.Unmarshal([]byte(body), &n); err != nil {
			t.Fatal(err)
		}
		if err := n.Check(); !errors.Is(err, event.ErrContent) || !strings.Contains(err.Error(), rule) {
			t.Errorf("%.50s: %v", body, err)
		}
	}
	for _, body := range []string{`{"alerts":[{}]}`, `{"alerts":[{"labels":{"a":null},"annotations":null}]}`, `{"msg":"x"}`, `{"title":"x"}`} {
		if n := read(t, body); n.Text(all(n)) == "" {
			t.Errorf("%s has no text", body)
		}
	}
}

// TestAlertIdentityIsStatusFingerprintStartAndRecipient and by nothing else.
func TestAlertIdentityIsStatusFingerprintStartAndRecipient(t *testing.T) {
	mark := func(body, to string) Mark {
		t.Helper()
		marks := read(t, `{"status":"firing","alerts":[`+body+`]}`).Marks(to)
		if len(marks) != 1 {
			t.Fatal(marks)
		}
		return marks[0]
	}
	const one = `{"status":"firing","fingerprint":"f","startsAt":"2026-11-20T10:00:00Z","labels":{"a":"b"}}`
	is := mark(one, "49@s")
	for name, body := range map[string]string{
		"other words":         `{"status":"firing","fingerprint":"f","startsAt":"2026-11-20T10:00:00Z","labels":{"c":"d"},"annotations":{"x":"y"},"endsAt":"2026-11-20T11:00:00Z"}`,
		"another zone":        `{"status":"firing","fingerprint":"f","startsAt":"2026-11-20T11:00:00.000+01:00"}`,
		"the status of all":   `{"fingerprint":"f","startsAt":"2026-11-20T10:00:00Z"}`,
		"fields of strangers": `{"status":"firing","fingerprint":"f","startsAt":"2026-11-20T10:00:00Z","values":{"A":1}}`,
	} {
		if mark(body, "49@s") != is {
			t.Errorf("%s: another alert", name)
		}
	}
	for name, body := range map[string]string{
		"status":         strings.Replace(one, `"firing"`, `"resolved"`, 1),
		"fingerprint":    strings.Replace(one, `"f"`, `"g"`, 1),
		"start":          strings.Replace(one, `10:00`, `10:01`, 1),
		"no fingerprint": strings.Replace(one, `"f"`, `""`, 1),
	} {
		if mark(body, "49@s") == is {
			t.Errorf("%s differs, and the alert is the same", name)
		}
	}
	if mark(one, "50@s") == is {
		t.Error("another recipient, and the alert is the same")
	}
	of := func(labels string) Mark { return mark(`{"labels":`+labels+`}`, "49@s") }
	if of(`{"a":"b","c":"d"}`) != of(`{"c":"d","a":"b"}`) || of(`{"a":"b"}`) == of(`{"ab":""}`) || of(`{"a":"b"}`) == of(`{"a":"c"}`) {
		t.Error("the fingerprint that labels make")
	}
	if n := read(t, `{"title":"x"}`); len(n.Marks("49@s")) != 0 {
		t.Error("a title is no alert")
	}
	if n := read(t, `{"title":"x","fingerprint":"f","startsAt":"2026-11-20T10:00:00Z","status":"firing"}`); len(n.Marks("49@s")) != 1 || n.Marks("49@s")[0] != is {
		t.Error("a title with a fingerprint")
	}
}

// FuzzANotificationMakesABoundedText of any post, and never fails.
func FuzzANotificationMakesABoundedText(f *testing.F) {
	bodies, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range bodies {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var n Notification
		if json.Unmarshal(raw, &n) != nil || n.Check() != nil {
			return
		}
		text := n.Text(all(&n))
		if c := utf8.RuneCountInString(text); c == 0 || c > maxMessage+maxTitle+3 || !utf8.ValidString(text) {
			t.Errorf("%d characters: %q", c, text)
		}
		for _, r := range text {
			if r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("the text has %U", r)
			}
		}
		if marks := n.Marks("49@s"); len(n.Alerts) > 0 && len(marks) != len(n.Alerts) {
			t.Errorf("%d marks of %d alerts", len(marks), len(n.Alerts))
		}
	})
}

// FuzzARowOfTheBook: a row is read as it was written, or not at all.
func FuzzARowOfTheBook(f *testing.F) {
	f.Add((&row{sent: true, marks: []Mark{{1}, {2}}}).encode())
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := decode(raw)
		if err == nil && r.at.UnixMilli() >= 0 && !bytes.Equal(r.encode(), raw) {
			t.Errorf("%x is read as %+v", raw, r)
		}
	})
}
