// Package support redacts texts for a support bundle: secrets, tokens, URLs except
// scheme and host, phone numbers and JIDs except their last two digits, and the names
// of instances, each of which gets the same replacement everywhere.
//
// It redacts given secrets and names, and everything that has the form of a token, a
// key or a number. It errs on the side of removing too much.
package support

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Hidden replaces redacted text.
const Hidden = "********"

// shownDigits is the number of digits that stay visible.
const shownDigits = 2

// minSecret is the minimum length of a redacted secret, in bytes: a shorter
// one would be found in words.
const minSecret = 6

// Redactor redacts texts. It is for one goroutine.
type Redactor struct {
	secrets []string // the longest first
	names   map[string]string
}

// New returns a redactor for these secrets and names of instances.
func New(secrets, names []string) *Redactor {
	r := &Redactor{names: map[string]string{}}
	for _, s := range secrets {
		if len(s) >= minSecret && !slices.Contains(r.secrets, s) {
			r.secrets = append(r.secrets, s)
		}
	}
	slices.SortStableFunc(r.secrets, func(a, b string) int { return len(b) - len(a) })
	for _, name := range names {
		r.know(name)
	}
	return r
}

func (r *Redactor) know(name string) {
	if _, known := r.names[name]; !known && name != "" {
		r.names[name] = fmt.Sprintf("instance-%d", len(r.names)+1)
	}
}

var (
	// log lines about deleted instances
	attribute = regexp.MustCompile(`\binstance(?:=|":")"?([A-Za-z0-9_-][A-Za-z0-9._-]*)`)
	inPath    = regexp.MustCompile(`/instance/([A-Za-z0-9_-][A-Za-z0-9._-]*)`)
)

// Learn adds the names of instances that occur in a log.
func (r *Redactor) Learn(log string) {
	for _, form := range []*regexp.Regexp{attribute, inPath} {
		for _, found := range form.FindAllStringSubmatch(log, -1) {
			if !strings.HasSuffix(found[1], ".go") { // a place in the source
				r.know(strings.TrimRight(found[1], "."))
			}
		}
	}
}

// keys are the names of fields with secrets, people and message texts.
const keys = `(?:api_?key|token|secret|password|passwd|authorization|cookie|notify|push_?name|verified_?name|display_?name|full_?name|first_?name|name|subject|body|text|caption|content)`

var (
	urls = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>\\]+`)
	// the value of a field with one of the keys
	calledQuoted = regexp.MustCompile(`(?i)(\b` + keys + `\\?"?\s*[:=]\s*\\?")[^"\\]+`)
	calledBare   = regexp.MustCompile(`(?i)(\b` + keys + `\s*[:=]\s*)(?:(?:Bearer |Basic )?[^\s"\\,;}&*]+)`)
	formed       = []*regexp.Regexp{
		regexp.MustCompile(`eyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*){0,2}`), // JWT
		regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`),
		regexp.MustCompile(`AGE-SECRET-KEY-[0-9A-Z]+`),
		regexp.MustCompile(`(?i)\b(?:bearer|basic) [A-Za-z0-9._~+/=-]{6,}`),
		regexp.MustCompile(`\b[0-9A-Fa-f]{32,}\b`),
		regexp.MustCompile(`[A-Za-z0-9_+=-]{40,}`),
	}
	address = regexp.MustCompile(`([^\s"'=<>,;()\[\]{}\\]+)@([A-Za-z0-9.-]+)`)
	word    = regexp.MustCompile(`[A-Za-z0-9_-][A-Za-z0-9._-]*`)
	digits  = regexp.MustCompile(`[0-9]+`)
	quoted  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	labels  = regexp.MustCompile(`\{.*\}`)
)

// servers are the server parts of JIDs.
var servers = []string{"s.whatsapp.net", "lid", "g.us", "newsletter", "broadcast", "c.us", "bot", "hosted", "hosted.lid", "call", "msgr", "interop"}

// Text redacts everything that the package comment lists.
func (r *Redactor) Text(text string) string {
	text = r.named(urls.ReplaceAllStringFunc(r.Secrets(text), bare))
	text = calledQuoted.ReplaceAllString(text, "${1}"+Hidden)
	text = calledBare.ReplaceAllString(text, "${1}"+Hidden)
	for _, form := range formed {
		text = form.ReplaceAllString(text, Hidden)
	}
	return numbers(address.ReplaceAllStringFunc(text, person), minPhone)
}

// Secrets redacts the given secrets only.
func (r *Redactor) Secrets(text string) string {
	for _, s := range r.secrets {
		text = strings.ReplaceAll(text, s, Hidden)
	}
	return text
}

// Config redacts a configuration; figures and names of settings stay.
func (r *Redactor) Config(text string) string {
	return quoted.ReplaceAllStringFunc(r.Secrets(text), func(value string) string {
		return numbers(r.named(urls.ReplaceAllStringFunc(value, bare)), minPhone)
	})
}

// Metrics redacts metrics in the Prometheus format; figures stay.
func (r *Redactor) Metrics(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "#") {
			lines[i] = labels.ReplaceAllStringFunc(line, func(all string) string {
				return quoted.ReplaceAllStringFunc(all, r.Text)
			})
		}
	}
	return strings.Join(lines, "")
}

// bare reduces a URL to scheme and host.
func bare(text string) string {
	trimmed := strings.TrimRight(text, ":,;.)]}")
	end := text[len(trimmed):]
	u, err := url.Parse(trimmed)
	if err != nil || u.Host == "" {
		scheme, _, _ := strings.Cut(text, "://")
		return scheme + "://" + Hidden
	}
	shown := u.Scheme + "://" + u.Host
	if rest := strings.TrimPrefix(trimmed, shown); rest != "" && rest != "/" {
		shown += "/" + Hidden
	}
	return shown + end
}

// named replaces the name of each instance.
func (r *Redactor) named(text string) string {
	return word.ReplaceAllStringFunc(text, func(w string) string {
		if other, known := r.names[w]; known {
			return other
		}
		short := strings.TrimRight(w, ".-_") // the end of a sentence
		if other, known := r.names[short]; known {
			return other + w[len(short):]
		}
		return w
	})
}

// person redacts an address, except the last digits of a JID.
func person(text string) string {
	who, server, _ := strings.Cut(text, "@")
	if slices.Contains(servers, strings.TrimRight(server, ".")) {
		return numbers(who, 1) + "@" + server
	}
	return Hidden + "@" + server
}

// minPhone is the minimum number of digits in a phone number.
const minPhone = 7

// numbers hides the digits of whole numbers of so many digits or more but for the last
// ones. A fraction is none, and neither is a date before a time.
func numbers(text string, least int) string {
	var b strings.Builder
	done := 0
	for _, at := range digits.FindAllStringIndex(text, -1) {
		from, to := at[0], at[1]
		fraction := from > 1 && text[from-1] == '.' && text[from-2] >= '0' && text[from-2] <= '9'
		date := to-from == 8 && strings.HasPrefix(text[from:], "20") && to+1 < len(text) && text[to] == 'T' && text[to+1] >= '0' && text[to+1] <= '9'
		if to-from < least || fraction || date {
			continue
		}
		b.WriteString(text[done:from])
		b.WriteString(strings.Repeat("*", to-from-min(shownDigits, (to-from)/2)))
		done = to - min(shownDigits, (to-from)/2)
	}
	b.WriteString(text[done:])
	return b.String()
}
