package rest

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// inlined passes a body through a reader some of whose fields may be files, and returns what is passed on.
func inlined(t testing.TB, body string, max int64) (out string, files [][]byte, err error) {
	t.Helper()
	folder := t.TempDir()
	x := &inlineReader{
		in: bufio.NewReader(iotest.OneByteReader(strings.NewReader(body))), files: &Inline{prefix: "P/"},
		rules: InlineRules{Fields: []string{"media", "audio", "b.media", "c.items[].media"}, Files: 2, Max: max, Spool: func(r io.Reader) (string, error) {
			content, err := io.ReadAll(r)
			path := filepath.Join(folder, "f")
			files = append(files, content)
			return path, firstOf(err, os.WriteFile(path, content, 0o600))
		}},
	}
	passed, err := io.ReadAll(x)
	return string(passed), files, firstOf(x.refusal, err)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestFilesInBase64AreSpooled in every spelling, and everything else is passed on byte for byte.
func TestFilesInBase64AreSpooled(t *testing.T) {
	content := bytes.Repeat([]byte{0xff, 0xfb, 0x00, 'x', 0xbf}, 21)
	std := base64.StdEncoding.EncodeToString(content)
	for name, text := range map[string]string{
		"bare": std, "with a type": "data:image/png;base64," + std, "without padding": strings.TrimRight(std, "="),
		"of URLs": base64.URLEncoding.EncodeToString(content), "with escaped slashes": strings.ReplaceAll(std, "/", `\/`),
		"in lines": std[:40] + `\n` + std[40:] + `\r\n`, "with parameters": "data:image/png;charset=utf-8;base64," + std,
	} {
		out, files, err := inlined(t, `{"a":"media", "media" : "`+text+`","b":[1,"media"]}`, 1000)
		if err != nil || out != `{"a":"media", "media" : "P/0","b":[1,"media"]}` || len(files) != 1 || !bytes.Equal(files[0], content) {
			t.Errorf("%s: %v %s %d", name, err, out, len(files))
		}
	}
	for _, body := range []string{
		`{"media":"https://example.org/a.png"}`, `{"media":"short"}`, `{"media":"` + strings.Repeat("a", 63) + `"}`, `{"text":"` + std + `"}`,
		`{"x":"a\"media\":\"b","media":null}`, `["media","` + std + `"]`, `{"media":{"media":1}}`, "", "{", `{"media":"ht`, `{"audio":"` + strings.Repeat("a.", 50) + `"}`,
		`{"a":{"media":"` + std + `"}}`, `{"c":{"media":"` + std + `","items":{"media":"` + std + `"}}}`, `{"c":{"items":[[{"media":"` + std + `"}]]}}`,
		`{"b":{"c":{}},"x":{"b":{"media":"` + std + `"}}}`, `[{"media":"` + std + `"}]`, `}{"x":{"media":"` + std + `"}}`, `{"":{"media":"` + std + `"}}`,
	} {
		if out, files, err := inlined(t, body, 1000); err != nil || out != body || len(files) > 0 {
			t.Errorf("%s: %v %s %d", body, err, out, len(files))
		}
	}
	for body, want := range map[string]string{
		`{"media":"data:image/png,abc"}`:                                            "only base64",
		`{"media":"data:` + strings.Repeat("x", 300) + `"}`:                         "data:<type>;base64",
		`{"media":"data:;base64,!!!!"}`:                                             "not valid base64",
		`{"media":"` + std + `!"}`:                                                  "not valid base64",
		`{"media":"` + std + `A"}`:                                                  "not valid base64",
		`{"media":"` + strings.TrimRight(std, "=") + `=A"}`:                         "not valid base64",
		`{"media":"` + std:                                                          "ends early",
		`{"media":"` + base64.StdEncoding.EncodeToString(make([]byte, 1001)) + `"}`: "media.max_inline",
		`{"media":"` + std + `","audio":"` + std + `","b":{"media":"` + std + `"}}`: "at most 2 files",
		`{"media":"data:;base64,"}`:                                                 "", // an empty file, which the spool refuses
	} {
		_, _, err := inlined(t, body, 1000)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.80s: %v, not %s", body, err, want)
		}
	}
}

// TestFilesAreFoundByTheirPaths also after other objects and arrays.
func TestFilesAreFoundByTheirPaths(t *testing.T) {
	file := strings.Repeat("abcd", 16)
	body := `{"a":{"media":"` + file + `"},"b":{"x":[{}],"media":"` + file + `"},"c":{"items":[{"y":{}},{"media":"` + file + `"}]},"z":["` + file + `"]}`
	want := `{"a":{"media":"` + file + `"},"b":{"x":[{}],"media":"P/0"},"c":{"items":[{"y":{}},{"media":"P/1"}]},"z":["` + file + `"]}`
	if out, files, err := inlined(t, body, 1000); err != nil || out != want || len(files) != 2 {
		t.Errorf("%v %s %d", err, out, len(files))
	}
}

// FuzzBodiesWithFiles: what is no file is passed on byte for byte.
func FuzzBodiesWithFiles(f *testing.F) {
	f.Add(`{"media":"` + strings.Repeat("aGk=", 30) + `","text":"x\"y"}`)
	f.Add(`{"media" : "data:image/png;base64,aGk="}`)
	f.Fuzz(func(t *testing.T, body string) {
		out, files, err := inlined(t, body, 1000)
		if err == nil && len(files) == 0 && out != body {
			t.Errorf("%q became %q", body, out)
		}
		if err == nil && json.Valid([]byte(body)) && !json.Valid([]byte(out)) {
			t.Errorf("%q became %q", body, out)
		}
	})
}
