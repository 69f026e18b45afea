package optout

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"postern/event"
)

// Bounds of the opt-out words of a batch.
const (
	MaxWords = 20
	MaxWord  = 64 // characters
)

// maxText is the longest text that can be a word, in bytes.
const maxText = 8 * MaxWord

// marks are the canonical combining classes of accents: what is written above, below or
// through a letter, and the optional vowels of Hebrew, Arabic and Syriac. Signs of other
// classes are letters of their script, such as vowels of Thai, and distinguish words.
func accent(class uint8) bool { return class == 1 || class >= 10 && class <= 36 || class >= 200 }

// unaccented are letters whose stroke or missing dot Unicode does not decompose, and ß.
var unaccented = map[rune]string{'ł': "l", 'ø': "o", 'đ': "d", 'ħ': "h", 'ŧ': "t", 'ı': "i", 'ß': "ss", 'æ': "ae", 'œ': "oe"}

// Fold returns a text in the form in which words are compared: without case, accents,
// invisible characters and outer spaces, inner ones being single. Texts that differ only in
// these have the same form, in any script.
func Fold(text string) string {
	var out strings.Builder
	text = norm.NFKD.String(text)
	for i, r := range text {
		if r < utf8.RuneSelf {
			out.WriteRune(unicode.ToLower(r))
			continue
		}
		if accent(norm.NFKD.PropertiesString(text[i:]).CCC()) || unicode.In(r, unicode.Cf, unicode.Variation_Selector) {
			continue
		}
		r = foldCase(r)
		if plain, ok := unaccented[r]; ok {
			out.WriteString(plain)
			continue
		}
		out.WriteRune(r)
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// foldCase returns the same letter for all that differ only in case: S, s and ſ, or Σ, σ
// and ς.
func foldCase(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}

// ending are characters around a word that do not change what it says: the end of a
// sentence, quotation marks, and what WhatsApp makes letters bold with. A question mark is
// none of them.
const ending = ".!。'\"«»‹›“”„‘’*_~`"

// bare returns a folded text without the characters of ending around it.
func bare(folded string) string { return strings.TrimSpace(strings.Trim(folded, ending)) }

// textOf returns the text of a message that a person wrote, or of the button that they
// chose; empty for any other content.
func textOf(m *event.Message) string {
	var c struct {
		Text, SelectedDisplayText, Title string
		Body                             struct{ Text string }
	}
	if json.Unmarshal(m.Content, &c) != nil {
		return ""
	}
	switch m.MessageType {
	case "conversation", "extendedTextMessage":
		return c.Text
	case "buttonsResponseMessage", "templateButtonReplyMessage":
		return c.SelectedDisplayText
	case "listResponseMessage":
		return c.Title
	case "interactiveResponseMessage":
		return c.Body.Text
	}
	return ""
}
