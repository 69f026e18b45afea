package mcp

import (
	"cmp"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of returned text of others, in bytes.
const (
	maxText = 4096
	maxName = 256
	maxLast = 300 // of the newest message in a list of chats
)

// Untrusted is text written or chosen by other people. A model sees it only under this
// name.
type Untrusted struct {
	Name        string   `json:"name,omitempty" jsonschema:"of a chat, a group or a person, as somebody chose it"`
	Sender      string   `json:"sender,omitempty" jsonschema:"the name that the sender gave themselves"`
	Text        string   `json:"text,omitempty"`
	Caption     string   `json:"caption,omitempty"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	FileName    string   `json:"fileName,omitempty"`
	FileType    string   `json:"fileType,omitempty" jsonschema:"what the sender says that a file is"`
	Address     string   `json:"address,omitempty"`
	Options     []string `json:"options,omitempty" jsonschema:"of a poll"`
	Cut         bool     `json:"cut,omitempty" jsonschema:"true: there is more of it than is shown"`
}

// orNone is u, nil when there is nothing in it.
func (u Untrusted) orNone() *Untrusted {
	if reflect.DeepEqual(u, Untrusted{}) {
		return nil
	}
	return &u
}

// clean sanitizes untrusted text: valid UTF-8 of at most most bytes, without control
// characters except line ends and tabs, and without invisible characters, which hide
// text from people who see what a model reads. Joiners stay, because scripts and emoji
// need them.
func clean(text string, most int) string {
	if len(text) > 4*most { // it only gets shorter; do not clean a megabyte
		text = text[:4*most]
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d':
			return r
		case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r), unicode.Is(unicode.Co, r):
			return -1
		}
		return r
	}, text)
	if len(text) > most {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most]
	}
	return text
}

// legible are the fields of a message's content with text.
type legible struct {
	Text, Caption, Title, Description, Name, DisplayName, FileName, Mimetype, Address, ContentText string

	Options []struct{ OptionName string } // of a poll
}

// readable returns the text of a message's content, at most most bytes of each field.
func readable(content json.RawMessage, most int) Untrusted {
	var l legible
	if json.Unmarshal(content, &l) != nil {
		return Untrusted{}
	}
	u := Untrusted{
		Name: clean(cmp.Or(l.Name, l.DisplayName), maxName), Text: clean(cmp.Or(l.Text, l.ContentText), most), Caption: clean(l.Caption, most),
		Title: clean(l.Title, maxName), Description: clean(l.Description, most), FileName: clean(l.FileName, maxName),
		FileType: clean(l.Mimetype, maxName), Address: clean(l.Address, maxName),
	}
	for _, o := range l.Options[:min(len(l.Options), maxOptions)] {
		u.Options = append(u.Options, clean(o.OptionName, maxName))
	}
	u.Cut = len(l.Text) > most || len(l.ContentText) > most || len(l.Caption) > most || len(l.Description) > most
	return u
}

// maxOptions is how many of a poll's options are shown; WhatsApp takes no more.
const maxOptions = 12

// The formats of values outside of untrustedText. None allows free text.
var (
	jidForm  = regexp.MustCompile(`^([0-9][0-9:._-]{0,40}@(s\.whatsapp\.net|c\.us|lid|g\.us|newsletter|broadcast|bot|hosted|hosted\.lid)|status@broadcast)$`)
	typeForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,60}$`)
	timeForm = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,15}Z$`)
	wordForm = regexp.MustCompile(`^[A-Za-z_]{1,30}$`)
	nameForm = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,254}$`)
)

// isName reports whether a text may be the name of an instance.
func isName(text string) bool { return nameForm.MatchString(text) }

// jid returns an address, empty when it has not the form of one.
func jid(texts ...string) string {
	for _, t := range texts {
		if jidForm.MatchString(t) {
			return t
		}
	}
	return ""
}

func ofForm(form *regexp.Regexp, text string) string {
	if form.MatchString(text) {
		return text
	}
	return ""
}

// at returns a time in Unix seconds as RFC 3339 in UTC, empty for none.
func at(seconds int64) string {
	if seconds <= 0 || seconds > 1<<37 {
		return ""
	}
	return time.Unix(seconds, 0).UTC().Format(time.RFC3339)
}
