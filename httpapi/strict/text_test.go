package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// wellFormed returns the part of text before the first byte that is not UTF-8.
func wellFormed(text []byte) []byte {
	end := 0
	for end < len(text) {
		r, size := utf8.DecodeRune(text[end:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		end += size
	}
	return text[:end]
}

func readText(r io.Reader) ([]byte, error) {
	var t textReader
	t.reset(r)
	return io.ReadAll(&t)
}

// FuzzTextEndsAtTheFirstInvalidByte reads it in pieces of any length, which split runes.
func FuzzTextEndsAtTheFirstInvalidByte(f *testing.F) {
	for _, s := range []string{"", "a", "é", "€uro", "😀", "a\xff", "\xf0\x9f\x98", "\xed\xa0\x80", "\xc0\x80", "\xe2\x82", "a\x80b", "\xf4\x90\x80\x80"} {
		f.Add([]byte(s), uint8(0))
		f.Add([]byte(strings.Repeat("x", 4095)+s+strings.Repeat("y", 4095)), uint8(200))
	}
	f.Fuzz(func(t *testing.T, text []byte, piece uint8) {
		want := wellFormed(text)
		var wantErr error
		if len(want) < len(text) {
			wantErr = errNotUTF8
		}
		for name, r := range map[string]io.Reader{
			"whole": bytes.NewReader(text), "in pieces": &inPieces{text, int(piece) + 1},
			"the end with the last byte": iotest.DataErrReader(bytes.NewReader(text)),
		} {
			got, err := readText(r)
			if !errors.Is(err, wantErr) || !bytes.Equal(got, want) {
				t.Errorf("%s: %q of %q with %v, want %q with %v", name, got, text, err, want, wantErr)
			}
		}
	})
}

// inPieces reads a text n bytes at a time.
type inPieces struct {
	text []byte
	n    int
}

func (r *inPieces) Read(p []byte) (int, error) {
	if len(r.text) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(r.n, len(p))], r.text)
	r.text = r.text[n:]
	return n, nil
}

func TestTruncatedTextFailsWithItsCause(t *testing.T) {
	broken := errors.New("the line broke")
	got, err := readText(io.MultiReader(strings.NewReader("a\xe2\x82"), iotest.ErrReader(broken)))
	if string(got) != "a" || !errors.Is(err, broken) {
		t.Errorf("%q with %v", got, err)
	}
}

// TestReadValuesOutliveTheNextRead: a decoder reads one document after the other into the same memory.
func TestReadValuesOutliveTheNextRead(t *testing.T) {
	body := `{"name":"X","list":["XX"],"deep":[{"minMs":1}],"inner":{"ratio":0.5},"flags":{"XXX":true},"raw":{"XXXX":1},"rawPtr":["XXXXX"]}`
	decode := func(body string) (v strictOuter, o Object) {
		if err := Decode(strings.NewReader(body), &v, Options{}); err != nil {
			t.Fatal(err)
		}
		o, err := ReadObject(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return v, o
	}
	var want strictOuter
	if err := json.Unmarshal([]byte(body), &want); err != nil {
		t.Fatal(err)
	}
	got, object := decode(body)
	for range 10 {
		decode(strings.ReplaceAll(body, "X", "o"))
	}
	if diff := cmp.Diff(want, got); diff != "" || string(object) != body {
		t.Errorf("it became (-was +is):\n%s\n%s", diff, object)
	}
}

// TestADecoderIsFreeOfTheDocumentBefore: neither its errors nor its unread rest affect the next one.
func TestADecoderIsFreeOfTheDocumentBefore(t *testing.T) {
	for _, before := range []string{
		`{"name":"a","count":1`, `{"name":"a"} {}`, `{"name":1}`, `{"name":"a","name":"b"}`, "{\"name\":\"\xff\"}", strings.Repeat("[", 99),
		`{"raw":"` + strings.Repeat("x", 2*maxReused) + `"}`, `{"name":"a"}` + "\n \n", ``,
	} {
		var v strictOuter
		_ = Decode(strings.NewReader(before), &v, Options{MaxEntries: 1, Ignored: &Ignored{}})
		var got strictOuter
		if err := Decode(strings.NewReader(`{"list":["a","b"],"name":"é"}`), &got, Options{}); err != nil || *got.Name != "é" || len(got.List) != 2 || got.Count != 0 {
			t.Errorf("after %.40q: %+v, %v", before, got, err)
		}
		if err := Decode(strings.NewReader(`{"other":1}`), &got, Options{}); err == nil || err.Error() != "other is not a known field" {
			t.Errorf("after %.40q: %v", before, err)
		}
	}
}

// TestAPlaceInWhatIsKeptIsNamed: jsontext reports wrong names if its buffer moves in the meantime.
func TestAPlaceInWhatIsKeptIsNamed(t *testing.T) {
	body := `{"raw":[{"number":{"flag":"` + strings.Repeat("long ", 30) + `","inner":{"strs":{"a":1,"a":2}}}}]}`
	var v strictOuter
	err := Decode(strings.NewReader(body), &v, Options{})
	if err == nil || err.Error() != "raw[0].number.inner.strs.a is given twice" {
		t.Errorf("%v", err)
	}
}

func TestFieldWithoutJSONNameIsUnknown(t *testing.T) {
	for _, name := range []string{"", "-", "Plain", "Hidden"} {
		var v struct {
			Plain  string
			Hidden string `json:"-"`
			Named  string `json:"named"`
		}
		err := Decode(strings.NewReader(`{"named":"n","`+name+`":"x"}`), &v, Options{})
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeUnknownField || v.Plain != "" || v.Hidden != "" {
			t.Errorf("%q: %v, %+v", name, err, v)
		}
	}
}

// TestShortBodyAllocatesLittle: every request pays this cost.
func TestShortBodyAllocatesLittle(t *testing.T) {
	const body = `{"number":"4915112345678","options":{"delay":1200,"presence":"composing"},"textMessage":{"text":"hello"}}`
	var r strings.Reader
	n := testing.AllocsPerRun(200, func() {
		r.Reset(body)
		var v sendBody
		if err := Decode(&r, &v, Options{}); err != nil {
			t.Fatal(err)
		}
	})
	if n > 8 { // three texts, the pointer to one, the struct; a collection may empty the pool
		t.Errorf("%v allocations", n)
	}
}
