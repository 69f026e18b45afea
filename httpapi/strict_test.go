package httpapi

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
}

func TestStrictAcceptsWhatTheStructSays(t *testing.T) {
	cases := map[string]string{
		"nothing at all":            "",
		"white space":               " \n",
		"an empty object":           "{}",
		"every field":               `{"name":"n","count":-3,"flag":false,"list":["a","é"],"deep":[{"minMs":1},{"ratio":0.5}],"inner":{"minMs":9},"flags":{"a":true},"raw":{"x":[1,{"y":null}]},"rawPtr":[1]}`,
		"null for what is optional": `{"name":null,"count":null,"flag":null,"list":null,"deep":null,"inner":null,"flags":null,"rawPtr":null}`,
		"escapes":                   `{"name":"\u00e9\n\"","list":[]}`,
		"empty containers":          `{"list":[],"flags":{},"deep":[],"inner":{}}`,
		"white space after":         "{} \n\t",
	}
	for name, body := range cases {
		t.Run(name, func(t *testing.T) {
			var got, want strictOuter
			if err := decodeStrict(strings.NewReader(body), &got); err != nil {
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

func TestStrictRefusesAndNamesTheField(t *testing.T) {
	cases := []struct{ name, body, code, want string }{
		{"an unknown field", `{"nmae":1}`, codeUnknownField, "nmae is not"},
		{"a name in another case", `{"Name":"x"}`, codeUnknownField, "Name is not"},
		{"an unknown field further in", `{"deep":[{},{"x":1}]}`, codeUnknownField, "deep[1].x is not"},
		{"the same field twice", `{"count":1,"count":1}`, codeDuplicateField, "count is given twice"},
		{"the same key twice in a map", `{"flags":{"a":true,"a":true}}`, codeDuplicateField, "flags.a is given twice"},
		{"the same key twice in free JSON", `{"raw":{"a":[{"b":1,"b":2}]}}`, codeDuplicateField, "raw.a[0].b is given twice"},
		{"the same key twice, once escaped", `{"raw":{"a":1,"\u0061":2}}`, codeDuplicateField, "raw.a is given twice"},
		{"null in a list", `{"list":["a",null]}`, codeInvalidType, "list[1] must"},
		{"null for the object", `null`, codeInvalidType, "the body must"},
		{"an array for the object", `[]`, codeInvalidType, "the body must be an object"},
		{"a number for a string", `{"list":[1]}`, codeInvalidType, "list[0] must be a string"},
		{"a string for a number", `{"count":"1"}`, codeInvalidType, "count must be an integer"},
		{"a fraction for an integer", `{"count":1.0}`, codeInvalidType, "count must be an integer"},
		{"too large a number", `{"count":9223372036854775808}`, codeInvalidType, "count must be an integer"},
		{"a string for a boolean", `{"flag":"true"}`, codeInvalidType, "flag must be true or false"},
		{"an object for an array", `{"list":{}}`, codeInvalidType, "list must be an array"},
		{"data after the object", `{}{}`, codeMalformedJSON, "after the JSON object"},
		{"rubbish after the object", `{}x`, codeMalformedJSON, "after the JSON object"},
		{"half an object", `{"count":1`, codeMalformedJSON, "not valid JSON"},
		{"half a value", `{"raw":{"a"`, codeMalformedJSON, "not valid JSON"},
		{"a comma too many", `{"count":1,}`, codeMalformedJSON, "not valid JSON"},
		{"invalid UTF-8", "{\"name\":\"\xff\"}", codeMalformedJSON, "UTF-8"},
		{"a rune cut off", "{\"name\":\"\xc3\"}", codeMalformedJSON, "UTF-8"},
		{"a rune cut off by the end", "{\"name\":\"\xe2\x82", codeMalformedJSON, "UTF-8"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var v strictOuter
			err := decodeStrict(strings.NewReader(c.body), &v)
			var e *decodeError
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a decodeError", err)
			}
			if e.code != c.code || !strings.Contains(e.Error(), c.want) {
				t.Errorf("got %s %q, want %s with %q", e.code, e, c.code, c.want)
			}
		})
	}
}

func TestStrictRefusesNullForWhatMustBeThere(t *testing.T) {
	var v struct {
		A string     `json:"a" strict:"required"`
		B jsonObject `json:"b" strict:"required"`
	}
	for body, want := range map[string]string{
		`{"a":null,"b":{}}`: "a must be given a value, not null", `{"a":"x","b":null}`: "b must be given a value, not null",
	} {
		var e *decodeError
		if err := decodeStrict(strings.NewReader(body), &v); !errors.As(err, &e) || e.code != codeInvalidType || e.Error() != want {
			t.Errorf("%s: got %v", body, err)
		}
	}
}

// TestUnknownFieldsAreIgnoredWhereThatWasAskedFor, and nothing else is: what is
// known is read as strictly as ever.
func TestUnknownFieldsAreIgnoredWhereThatWasAskedFor(t *testing.T) {
	read := func(body string) (strictOuter, *ignoredFields, error) {
		var v strictOuter
		ignored := &ignoredFields{}
		err := decodeWith(strings.NewReader(body), &v, reading{most: unbounded, ignored: ignored})
		return v, ignored, err
	}
	v, ignored, err := read(`{"count":1,"x":{"y":[1]},"inner":{"z":null,"minMs":7},"deep":[{"w":1}]}`)
	if err != nil || v.Count != 1 || v.Inner.MinMs != 7 || len(v.Deep) != 1 {
		t.Fatalf("%+v, %v", v, err)
	}
	if got := ignored.header(); got != `299 - "ignored unknown fields: x, inner.z, deep.w"` {
		t.Error(got)
	}
	for _, body := range []string{`{"count":"1"}`, `{"x":1,"x":2}`, `{"x":1,}`, `{"x":1}{}`, `{"x":`, `{"inner":{"x":"`} {
		if _, _, err := read(body); err == nil {
			t.Errorf("%s is taken", body)
		}
	}
	var hostile strings.Builder
	for i := range 1000 {
		hostile.WriteString(`,"\r\nSet-Cookie: a=` + strings.Repeat("ü", i) + `":1`)
	}
	_, ignored, err = read("{" + hostile.String()[1:] + "}")
	if err != nil {
		t.Fatal(err)
	}
	got := ignored.header()
	if len(got) > 6*maxIgnored*(maxIgnoredName+8) || strings.Trim(got, printableASCII()) != "" || !strings.HasSuffix(got, ` and 980 more"`) {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func printableASCII() string {
	var all strings.Builder
	for b := ' '; b <= '~'; b++ {
		all.WriteRune(b)
	}
	return all.String()
}

func TestStrictNamesAMissingRequiredField(t *testing.T) {
	for _, body := range []string{"", "{}", `{"b":1}`} {
		var v struct {
			A string `json:"a" strict:"required"`
			B int    `json:"b"`
		}
		err := decodeStrict(strings.NewReader(body), &v)
		var e *decodeError
		if !errors.As(err, &e) || e.code != codeMissingField || e.Error() != "a is required" {
			t.Errorf("body %q: got %v", body, err)
		}
	}
}

func TestUTF8IsJudgedAcrossReads(t *testing.T) {
	for _, s := range []string{"", "plain", "é€😀 mixed é", strings.Repeat("€", 1000)} {
		got, err := io.ReadAll(&utf8Reader{r: iotest.OneByteReader(strings.NewReader(s))})
		if err != nil || string(got) != s {
			t.Errorf("%.10q: got %.10q, %v", s, got, err)
		}
	}
	for _, s := range []string{"a\xff", "\xe2\x82", "\xe2\x28\xa1", "ok\xc3", "\xed\xa0\x80"} {
		if _, err := io.ReadAll(&utf8Reader{r: iotest.OneByteReader(strings.NewReader(s))}); !errors.Is(err, errUTF8) {
			t.Errorf("%q: got %v", s, err)
		}
	}
}

// What the strict decoder takes, encoding/json takes too and reads the same.
func FuzzStrictIsPartOfEncodingJSON(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `{"name":"x","count":1}`, `{"deep":[{"minMs":1,"ratio":1e3}]}`, `{"flags":{"a":true}}`,
		`{"raw":{"a":[1,2]},"rawPtr":null}`, `{"list":["\ud800"]}`, "{\"name\":\"\xff\"}", `{"inner":{}}{`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var got, want strictOuter
		if decodeStrict(bytes.NewReader(body), &got) != nil || len(bytes.TrimSpace(body)) == 0 {
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
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q is read differently (-json +strict):\n%s", body, diff)
		}
	})
}
