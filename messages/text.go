package messages

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"postern/event"
)

// words is a search text with case folded.
type words string

func wordsOf(text string) words { return words(fold(text)) }

// in reports whether the readable text of a message contains the words.
func (w words) in(m *event.Message) bool {
	if w == "" {
		return true
	}
	var read legible
	if json.Unmarshal(m.Content, &read) != nil {
		return false
	}
	for _, text := range read.texts() {
		if strings.Contains(fold(text), string(w)) {
			return true
		}
	}
	return false
}

// legible are the readable fields of contents.
type legible struct {
	Text, Caption, Title, Description, Name, DisplayName, FileName, Address, ContentText, FooterText string

	Options []struct{ OptionName string } // of a poll
}

func (l *legible) texts() []string {
	all := []string{l.Text, l.Caption, l.Title, l.Description, l.Name, l.DisplayName, l.FileName, l.Address, l.ContentText, l.FooterText}
	for _, o := range l.Options {
		all = append(all, o.OptionName)
	}
	return all
}

// fold folds letters that differ only in case, as Unicode's simple case folding does: S,
// s and ſ, or Σ, σ and ς.
func fold(text string) string {
	plain := true
	for i := range len(text) {
		if c := text[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			plain = false
			break
		}
	}
	if plain {
		return text
	}
	return strings.Map(foldRune, text)
}

func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if 'A' <= least && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}
