package alerts

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A text is read on a phone, at night. The maximum lengths of its parts, in characters.
const (
	maxText    = 3000 // all of it, but for a message
	maxShown   = 20   // alerts
	maxTitle   = 200
	maxName    = 100
	maxSummary = 300
	maxDetails = 500
	maxValue   = 80 // of a label
	maxLabels  = 8  // of an alert
	maxLink    = 500
	maxMessage = 4000
)

const (
	iconFiring   = "🔴"
	iconResolved = "🟢"
)

// Text returns the text about the alerts at these positions in Alerts; firing alerts come first. For a title and
// message it contains both. The same post always gives the same text.
func (n *Notification) Text(which []int) string {
	if len(n.Alerts) == 0 {
		return joined("\n", bold(clean(n.Title, maxTitle)), cleanLines(n.Message, maxMessage))
	}
	var firing, over []*Alert
	for _, i := range which {
		if a := &n.Alerts[i]; a.Status == resolved {
			over = append(over, a)
		} else {
			firing = append(firing, a)
		}
	}
	all := append(firing, over...)
	common := commonLabels(all)
	t := text{}
	t.add(n.head(len(firing), len(over), common))
	if len(all) == 1 {
		t.add(append(all[0].lines(nil, false), all[0].link())...)
		all = nil
	} else {
		t.add(labelsLine(common, nil))
	}
	for i, a := range all {
		if i == maxShown || !t.block(a.block(common)) {
			t.gap()
			t.add(fmt.Sprintf("and %d more", len(all)-i))
			break
		}
	}
	if n.Truncated > 0 {
		t.gap()
		t.add(fmt.Sprintf("and %d that the sender left out", n.Truncated))
	}
	return t.b.String()
}

// text is a text that is built line by line.
type text struct {
	b     strings.Builder
	chars int
}

// add adds lines, except empty ones.
func (t *text) add(lines ...string) {
	for _, line := range lines {
		if line == "" {
			continue
		}
		if t.b.Len() > 0 {
			t.b.WriteByte('\n')
		}
		t.b.WriteString(line)
		t.chars += utf8.RuneCountInString(line) + 1
	}
}

// gap inserts an empty line before the next one.
func (t *text) gap() {
	t.b.WriteByte('\n')
	t.chars++
}

// block adds lines after an empty one, unless the text becomes too long.
func (t *text) block(lines []string) bool {
	chars := t.chars
	for _, line := range lines {
		chars += utf8.RuneCountInString(line) + 1
	}
	if chars > maxText {
		return false
	}
	t.gap()
	t.add(lines...)
	return true
}

// head returns the first line: the subject and the number of alerts.
func (n *Notification) head(firing, over int, common map[string]string) string {
	name := common["alertname"]
	if name == "" {
		var values []string
		for _, label := range names(n.GroupLabels) {
			values = append(values, clean(*n.GroupLabels[label], maxValue))
		}
		name = joined(" ", values...)
	}
	if name == "" {
		name = "Alert"
		if firing+over > 1 {
			name = "Alerts"
		}
	}
	name = bold(clean(name, maxName))
	switch {
	case firing == 1 && over == 0:
		return iconFiring + " " + name
	case firing == 0 && over == 1:
		return iconResolved + " " + name + " resolved"
	case firing == 0:
		return fmt.Sprintf("%s %s: %d resolved", iconResolved, name, over)
	case over == 0:
		return fmt.Sprintf("%s %s: %d firing", iconFiring, name, firing)
	}
	return fmt.Sprintf("%s %s: %d firing, %d resolved", iconFiring, name, firing, over)
}

// block returns the lines of an alert among others.
func (a *Alert) block(common map[string]string) []string {
	icon := iconFiring
	if a.Status == resolved {
		icon = iconResolved
	}
	lines := a.lines(common, true)
	if len(lines) == 0 {
		return []string{icon}
	}
	lines[0] = icon + " " + lines[0]
	return lines
}

// lines returns the details of an alert that are not common to all.
func (a *Alert) lines(common map[string]string, named bool) (lines []string) {
	name := ""
	if named && common["alertname"] == "" {
		name = bold(clean(value(a.Labels, "alertname"), maxName))
	}
	summary, details := clean(value(a.Annotations, "summary"), maxSummary), clean(value(a.Annotations, "description"), maxDetails)
	if summary == "" {
		summary = clean(value(a.Annotations, "message"), maxSummary)
	}
	if details == summary {
		details = ""
	}
	for _, line := range []string{joined(" ", name, summary), details, labelsLine(a.labels(), common), a.when()} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// when says since when an alert has been firing, or how long it fired.
func (a *Alert) when() string {
	start, known := instant(a.StartsAt)
	if !known {
		return ""
	}
	if a.Status != resolved {
		return "since " + start.UTC().Format("2 Jan 15:04 UTC")
	}
	end, known := instant(a.EndsAt)
	if !known || end.Before(start) {
		return ""
	}
	return "after " + span(end.Sub(start))
}

func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d d %d h", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// link returns the link to further information.
func (a *Alert) link() string {
	for _, url := range []string{value(a.Annotations, "runbook_url"), a.DashboardURL, a.PanelURL, a.GeneratorURL} {
		web := strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")
		if web && clean(url, maxLink) == url {
			return url
		}
	}
	return ""
}

// labels returns the shown labels.
func (a *Alert) labels() map[string]string {
	shown := map[string]string{}
	for name, value := range a.Labels {
		if value != nil && *value != "" && !strings.HasPrefix(name, "__") {
			shown[name] = *value
		}
	}
	return shown
}

// commonLabels returns the labels that all alerts have.
func commonLabels(all []*Alert) map[string]string {
	common := all[0].labels()
	for _, a := range all[1:] {
		for name, v := range common {
			if value(a.Labels, name) != v {
				delete(common, name)
			}
		}
	}
	return common
}

// labelsLine shows labels except those shown elsewhere, severity first.
func labelsLine(labels, elsewhere map[string]string) string {
	shown := map[string]*string{}
	for name, value := range labels {
		if _, is := elsewhere[name]; !is && name != "alertname" && name != "severity" {
			shown[name] = &value
		}
	}
	order := names(shown)
	if severity, is := labels["severity"]; is && elsewhere["severity"] == "" {
		shown["severity"], order = &severity, append([]string{"severity"}, order...)
	}
	var parts []string
	for i, name := range order {
		if i == maxLabels {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, clean(name, maxValue)+": "+clean(*shown[name], maxValue))
	}
	return strings.Join(parts, " · ")
}

func value(of map[string]*string, name string) string {
	if v := of[name]; v != nil {
		return *v
	}
	return ""
}

// joined joins the parts that are not empty.
func joined(with string, parts ...string) string {
	var all []string
	for _, part := range parts {
		if part != "" {
			all = append(all, part)
		}
	}
	return strings.Join(all, with)
}

// bold formats a text as WhatsApp does for bold. It removes stars, which would end it.
func bold(s string) string {
	if s = strings.TrimSpace(strings.ReplaceAll(s, "*", "")); s == "" {
		return ""
	}
	return "*" + s + "*"
}

// clean returns a text on one line, without invisible characters, cut to a number of characters.
func clean(s string, most int) string {
	seen := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r):
			return ' '
		case hidden(r):
			return -1
		}
		return r
	}, s)
	return cut(strings.Join(strings.Fields(seen), " "), most)
}

// cleanLines is clean for each line, without empty lines at the ends and with at most one empty line between two.
func cleanLines(s string, most int) string {
	var lines []string
	for line := range strings.Lines(s) {
		line = clean(line, most)
		if line != "" || len(lines) > 0 && lines[len(lines)-1] != "" {
			lines = append(lines, line)
		}
	}
	return cut(strings.TrimSpace(strings.Join(lines, "\n")), most)
}

// hidden reports invisible characters, including those that reverse the direction of a text. It does not include the
// characters that join emoji or make up flags of regions.
func hidden(r rune) bool {
	return unicode.Is(unicode.Cf, r) && r != '\u200d' && (r < 0xE0020 || r > 0xE007F)
}

func cut(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	return strings.TrimSpace(string([]rune(s[:min(len(s), most*utf8.UTFMax)])[:most-1])) + "…"
}
