package nesting

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// arrays returns a document of so many levels.
func arrays(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

func TestNestingLimitIs64(t *testing.T) {
	mixed := strings.Repeat(`{"a":[`, 32) + strings.Repeat(`]}`, 32)
	for document, want := range map[string]error{
		arrays(64):               nil,
		arrays(65):               ErrTooDeep,
		mixed:                    nil,
		`[` + mixed + `]`:        ErrTooDeep,
		`"` + arrays(65) + `"`:   nil, // a text
		`"\"` + arrays(65) + `"`: nil, // the quote in it is escaped
		`"\\"` + arrays(65):      ErrTooDeep,
		`[` + strings.Repeat("[],{},", 99) + `0]`: nil, // wide and not deep
		strings.Repeat("]", 99) + arrays(64):      nil, // no credit for brackets that close nothing
		strings.Repeat("]", 99) + arrays(65):      ErrTooDeep,
		`nonsense ` + strings.Repeat("[{", 40):    ErrTooDeep,
		``:                                        nil,
	} {
		if got := Check([]byte(document)); !errors.Is(got, want) {
			t.Errorf("%.40s…: %v, want %v", document, got, want)
		}
		read, err := io.ReadAll(iotest.OneByteReader(NewReader(iotest.OneByteReader(strings.NewReader(document)))))
		if !errors.Is(err, want) || err == nil && string(read) != document {
			t.Errorf("%.40s… byte by byte: %v, want %v", document, err, want)
		}
	}
}

func TestTheRestOfADocumentCounts(t *testing.T) {
	for document, want := range map[string]error{`{} ` + arrays(64): nil, `{} ` + arrays(65): ErrTooDeep} {
		r := NewReader(strings.NewReader(document))
		if _, err := io.ReadFull(r, make([]byte, 2)); err != nil {
			t.Fatal(err)
		}
		if got := r.Rest(); !errors.Is(got, want) {
			t.Errorf("%.10s…: %v, want %v", document, got, want)
		}
	}
	if err := NewReader(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(arrays(65))))).Rest(); err != nil {
		t.Errorf("a document that did not come: %v", err)
	}
}

// FuzzDepth checks the count against the levels that encoding/json reports.
func FuzzDepth(f *testing.F) {
	for _, s := range []string{arrays(64), arrays(65), `{"a":"]\"[","b":[{}]}`, `"\u005b["`} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, document []byte, piece uint8) {
		if !json.Valid(document) {
			return
		}
		deepest, depth := 0, 0
		for dec := json.NewDecoder(strings.NewReader(string(document))); ; {
			tok, err := dec.Token()
			if err != nil {
				break
			}
			switch tok {
			case json.Delim('{'), json.Delim('['):
				depth++
			case json.Delim('}'), json.Delim(']'):
				depth--
			}
			deepest = max(deepest, depth)
		}
		whole := Check(document) != nil
		if whole != (deepest > Max) {
			t.Errorf("%d levels: too deep %v", deepest, whole)
		}
		var c counter
		inPieces := false
		for rest := document; len(rest) > 0 && !inPieces; {
			n := min(len(rest), int(piece)+1)
			inPieces = c.passes(rest[:n])
			rest = rest[n:]
		}
		if inPieces != whole {
			t.Errorf("in pieces %v, in one %v", inPieces, whole)
		}
	})
}
