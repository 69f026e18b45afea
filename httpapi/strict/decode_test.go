package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

type strictInner struct {
	MinMs int64   `json:"minMs"`
	Ratio float64 `json:"ratio"`
}

type strictOuter struct {
	Name   *string          `json:"name"`
	Count  int64            `json:"count"`
	Flag   *bool            `json:"flag"`
	List   []string         `json:"list"`
	Deep   []strictInner    `json:"deep"`
	Inner  *strictInner     `json:"inner"`
	Flags  *map[string]bool `json:"flags"`
	Raw    json.RawMessage  `json:"raw"`
	RawPtr *json.RawMessage `json:"rawPtr"`
	Needs  []strictNeeds    `json:"needs"`
}

type strictNeeds struct {
	It string `json:"it" strict:"required"`
}

func TestStrictAcceptsWhatTheStructSays(t *testing.T) {
	cases := map[string]string{
		"nothing at all":            "",
		"white space":               " \n",
		"an empty object":           "{}",
		"every field":               `{"name":"n","count":-3,"flag":false,"list":["a","é"],"deep":[{"minMs":1},{"ratio":0.5}],"inner":{"minMs":9},"flags":{"a":true},"raw":{"x":[1,{"y":null}]},"rawPtr":[1]}`,
		"null for what is optional": `{"name":null,"count":null,"flag":null,"list":null,"deep":null,"inner":null,"flags":null,"rawPtr":null}`,
		"escapes":                   `{"name":"\u00e9\n\"","list":[]}`,
		"half a rune, escaped":      `{"name":"a\ud83d","list":["\udc00"]}`,
		"empty containers":          `{"list":[],"flags":{},"deep":[],"inner":{}}`,
		"white space after":         "{} \n\t",
	}
	for name, body := range cases {
		t.Run(name, func(t *testing.T) {
			var got, want strictOuter
			if err := Decode(strings.NewReader(body), &got, Options{}); err != nil {
				t.Fatalf("refused: %v", err)
			}
			if strings.TrimSpace(body) == "" {
				body = "{}"
			}
			if err := json.Unmarshal([]byte(body), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("not what encoding/json reads (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhatIsKeptHasNoHalfRune: kept values are sent in events, which every client must be able to read.
func TestWhatIsKeptHasNoHalfRune(t *testing.T) {
	for given, want := range map[string]string{
		`{"a":"x\ud83d"}`:               "{\"a\":\"x\uFFFD\"}",
		`{"a":"\uDC00y","n":1.50}`:      "{\"a\":\"\uFFFDy\",\"n\":1.50}",
		`{"\ud800":[ "\ud83d\udc4b" ]}`: "{\"\uFFFD\":[\"👋\"]}",
		`{"a":"\ud83d\udc4b", "b":1}`:   `{"a":"\ud83d\udc4b", "b":1}`, // a whole one, as it was
		`{"a":"\\ud83d", "b":1}`:        `{"a":"\\ud83d", "b":1}`,      // no escape
	} {
		var got struct {
			Raw json.RawMessage `json:"raw"`
		}
		if err := Decode(strings.NewReader(`{"raw":`+given+`}`), &got, Options{}); err != nil || string(got.Raw) != want {
			t.Errorf("%s: kept %s, %v; want %s", given, got.Raw, err, want)
		}
		if o, err := ReadObject(strings.NewReader(given)); err != nil || string(o) != want {
			t.Errorf("%s: kept %s, %v; want %s", given, o, err, want)
		}
	}
	var twice struct {
		Raw json.RawMessage `json:"raw"`
	}
	var e *Error
	if err := Decode(strings.NewReader(`{"raw":{"\ud800":1,"\ud801":2}}`), &twice, Options{}); !errors.As(err, &e) || e.Code != CodeDuplicateField {
		t.Errorf("two keys that are the same: %v", err)
	}
}

func TestStrictRefusesAndNamesTheField(t *testing.T) {
	cases := []struct{ name, body, code, want string }{
		{"an unknown field", `{"nmae":1}`, CodeUnknownField, "nmae is not"},
		{"a name in another case", `{"Name":"x"}`, CodeUnknownField, "Name is not"},
		{"an unknown field further in", `{"deep":[{},{"x":1}]}`, CodeUnknownField, "deep[1].x is not"},
		{"the same field twice", `{"count":1,"count":1}`, CodeDuplicateField, "count is given twice"},
		{"the same key twice in a map", `{"flags":{"a":true,"a":true}}`, CodeDuplicateField, "flags.a is given twice"},
		{"the same key twice in free JSON", `{"raw":{"a":[{"b":1,"b":2}]}}`, CodeDuplicateField, "raw.a[0].b is given twice"},
		{"the same key twice, once escaped", `{"raw":{"a":1,"\u0061":2}}`, CodeDuplicateField, "raw.a is given twice"},
		{"null in a list", `{"list":["a",null]}`, CodeInvalidType, "list[1] must"},
		{"null for the object", `null`, CodeInvalidType, "the body must"},
		{"an array for the object", `[]`, CodeInvalidType, "the body must be an object"},
		{"a number for a string", `{"list":[1]}`, CodeInvalidType, "list[0] must be a string"},
		{"a string for a number", `{"count":"1"}`, CodeInvalidType, "count must be an integer"},
		{"a fraction for an integer", `{"count":1.0}`, CodeInvalidType, "count must be an integer"},
		{"too large a number", `{"count":9223372036854775808}`, CodeInvalidType, "count must be an integer"},
		{"a string for a boolean", `{"flag":"true"}`, CodeInvalidType, "flag must be true or false"},
		{"an object for an array", `{"list":{}}`, CodeInvalidType, "list must be an array"},
		{"data after the object", `{}{}`, CodeMalformed, "after the JSON object"},
		{"rubbish after the object", `{}x`, CodeMalformed, "after the JSON object"},
		{"half an object", `{"count":1`, CodeMalformed, "not valid JSON"},
		{"half a value", `{"raw":{"a"`, CodeMalformed, "not valid JSON"},
		{"a comma too many", `{"count":1,}`, CodeMalformed, "not valid JSON"},
		{"a mistake further in", `{"deep":[{},{"ratio":01}]}`, CodeMalformed, `within "/deep/1" after offset 22`},
		{"the same key twice below a list in free JSON", `{"raw":[1,[{"x":{"a":1,"a":2}}]]}`, CodeDuplicateField, "raw[1][0].x.a is given twice"},
		{"a missing field of an entry", `{"needs":[{"it":"x"},{}]}`, CodeMissingField, "needs[1].it is required"},
		{"invalid UTF-8", "{\"name\":\"\xff\"}", CodeMalformed, "UTF-8"},
		{"a rune cut off", "{\"name\":\"\xc3\"}", CodeMalformed, "UTF-8"},
		{"a rune cut off by the end", "{\"name\":\"\xe2\x82", CodeMalformed, "UTF-8"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var v strictOuter
			err := Decode(strings.NewReader(c.body), &v, Options{})
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an Error", err)
			}
			if e.Code != c.code || !strings.Contains(e.Error(), c.want) {
				t.Errorf("got %s %q, want %s with %q", e.Code, e, c.code, c.want)
			}
		})
	}
}

func TestStrictRefusesNullForWhatMustBeThere(t *testing.T) {
	var v struct {
		A string `json:"a" strict:"required"`
		B Object `json:"b" strict:"required"`
	}
	for body, want := range map[string]string{
		`{"a":null,"b":{}}`: "a must be given a value, not null", `{"a":"x","b":null}`: "b must be given a value, not null",
	} {
		var e *Error
		if err := Decode(strings.NewReader(body), &v, Options{}); !errors.As(err, &e) || e.Code != CodeInvalidType || e.Error() != want {
			t.Errorf("%s: got %v", body, err)
		}
	}
}

// TestUnknownFieldsAreIgnoredWhereAskedFor, and only they: known fields are read as strictly as always.
func TestUnknownFieldsAreIgnoredWhereAskedFor(t *testing.T) {
	read := func(body string) (strictOuter, *Ignored, error) {
		var v strictOuter
		ignored := &Ignored{}
		err := Decode(strings.NewReader(body), &v, Options{Ignored: ignored})
		return v, ignored, err
	}
	v, ignored, err := read(`{"count":1,"x":{"y":[1]},"inner":{"z":null,"minMs":7},"deep":[{"w":1}]}`)
	if err != nil || v.Count != 1 || v.Inner.MinMs != 7 || len(v.Deep) != 1 {
		t.Fatalf("%+v, %v", v, err)
	}
	if diff := cmp.Diff(&Ignored{Names: []string{"x", "inner.z", "deep.w"}}, ignored); diff != "" {
		t.Error(diff)
	}
	for _, body := range []string{`{"count":"1"}`, `{"x":1,"x":2}`, `{"x":1,}`, `{"x":1}{}`, `{"x":`, `{"inner":{"x":"`} {
		if _, _, err := read(body); err == nil {
			t.Errorf("%s is taken", body)
		}
	}
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, `,"%s":1`, strings.Repeat("n", i))
	}
	_, ignored, err = read("{" + many.String()[1:] + "}")
	if err != nil || len(ignored.Names) != MaxIgnored || ignored.More != 1000-MaxIgnored {
		t.Errorf("%d names and %d more, %v", len(ignored.Names), ignored.More, err)
	}
	ignored.Names = nil
	if ignored.Add(strings.Repeat("n", 2*MaxIgnoredName)); len(ignored.Names[0]) != MaxIgnoredName {
		t.Errorf("a name of %d bytes", len(ignored.Names[0]))
	}
}

func TestStrictNamesAMissingRequiredField(t *testing.T) {
	for _, body := range []string{"", "{}", `{"b":1}`} {
		var v struct {
			A string `json:"a" strict:"required"`
			B int    `json:"b"`
		}
		err := Decode(strings.NewReader(body), &v, Options{})
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeMissingField || e.Error() != "a is required" {
			t.Errorf("body %q: got %v", body, err)
		}
	}
}

func TestUTF8IsJudgedAcrossReads(t *testing.T) {
	read := func(text string) (got struct {
		S string `json:"s"`
	}, err error,
	) {
		err = Decode(iotest.OneByteReader(strings.NewReader(`{"s":"`+text+`"}`)), &got, Options{})
		return got, err
	}
	for _, s := range []string{"", "plain", "é€😀 mixed é", strings.Repeat("€", 1000)} {
		if got, err := read(s); err != nil || got.S != s {
			t.Errorf("%.10q: got %.10q, %v", s, got.S, err)
		}
	}
	for _, s := range []string{"a\xff", "\xe2\x82", "\xe2\x28\xa1", "ok\xc3", "\xed\xa0\x80"} {
		if _, err := read(s); err == nil || err.Error() != "the body is not valid JSON: the text is not UTF-8" {
			t.Errorf("%q: got %v", s, err)
		}
	}
}

// cutOff ends like a request whose client disconnected: with an error once, and then as if it were complete.
type cutOff struct {
	text  string
	broke bool
}

func (c *cutOff) Read(p []byte) (n int, err error) {
	n = copy(p, c.text)
	c.text = c.text[n:]
	switch {
	case c.text != "":
	case c.broke:
		err = io.EOF
	default:
		c.broke, err = true, io.ErrUnexpectedEOF
	}
	return n, err
}

func TestTruncatedBodyIsNotWhole(t *testing.T) {
	for _, filler := range []string{"", strings.Repeat(" ", textPiece-2), strings.Repeat(" ", textPiece), strings.Repeat(" ", 9000)} {
		var v struct{}
		var e *Error
		if err := Decode(&cutOff{text: filler + "{}"}, &v, Options{}); !errors.As(err, &e) || e.Code != CodeMalformed {
			t.Errorf("%d bytes before it: %v", len(filler), err)
		}
		if err := Decode(strings.NewReader(filler+"{}"), &v, Options{}); err != nil {
			t.Errorf("%d bytes before it, not cut off: %v", len(filler), err)
		}
	}
}

// Documents that the strict decoder accepts, encoding/json accepts too with the same result.
func FuzzStrictIsPartOfEncodingJSON(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `{"name":"x","count":1}`, `{"deep":[{"minMs":1,"ratio":1e3}]}`, `{"flags":{"a":true}}`,
		`{"raw":{"a":[1,2]},"rawPtr":null}`, `{"list":["\ud800"]}`, "{\"name\":\"\xff\"}", `{"inner":{}}{`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var got, want strictOuter
		if Decode(bytes.NewReader(body), &got, Options{}) != nil || len(bytes.TrimSpace(body)) == 0 {
			return
		}
		if !utf8.Valid(body) {
			t.Fatalf("accepted a body that is not UTF-8: %q", body)
		}
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("accepted %q, which encoding/json refuses: %v", body, err)
		}
		if string(want.Raw) == "null" {
			want.Raw = nil // absent, as null is anywhere
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q is read differently (-json +strict):\n%s", body, diff)
		}
	})
}

// gathered is a TextList.
type gathered struct{ all []string }

func (g *gathered) AddText(text []byte) { g.all = append(g.all, string(text)) }

// TestTextListReadsLikeAStringSlice compares both for each document.
func TestTextListReadsLikeAStringSlice(t *testing.T) {
	type listed struct {
		All gathered `json:"all" strict:"required"`
	}
	type sliced struct {
		All []string `json:"all" strict:"required"`
	}
	for _, all := range []string{
		`[]`, `["a"]`, `["", "ü\u00fc\n", "\ud83d\ude00"]`, `["half \ud83d rune"]`, `["1","2","3","4","5"]`, `null`, `"a"`, `{}`, `7`,
		`[1]`, `["a",null]`, `["a",["b"]]`, `["a",{"b":"c"}]`, `["1","2","3",true]`, `["a"`, `["a",]`, `["a" "b"]`, "[\"\xff\"]", `[true]`,
	} {
		body := `{"all":` + all + `}`
		for _, most := range []int{0, 3} {
			var l listed
			var s sliced
			errList := Decode(strings.NewReader(body), &l, Options{MaxEntries: most})
			errSlice := Decode(strings.NewReader(body), &s, Options{MaxEntries: most})
			if fmt.Sprint(errList) != fmt.Sprint(errSlice) {
				t.Errorf("%s: %v, of a slice %v", body, errList, errSlice)
			}
			if errSlice == nil && !slices.Equal(l.All.all, s.All) {
				t.Errorf("%s: %q, of a slice %q", body, l.All.all, s.All)
			}
		}
	}
}
