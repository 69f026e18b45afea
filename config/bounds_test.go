package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
)

// TestExcessiveFileIsRefusedBeforeParsing: most of these have the
// parser allocate gigabytes.
func TestExcessiveFileIsRefusedBeforeParsing(t *testing.T) {
	const size = maxFile - 32
	deep, long := fmt.Sprintf("nest deeper than %d levels", maxNesting), fmt.Sprintf("a key has more than %d bytes", maxKey)
	keys := strings.Repeat("a = 1\n", size/12)
	for name, c := range map[string]struct{ document, rule string }{
		"arrays":                  {"a = " + strings.Repeat("[", size), deep},
		"bare brackets":           {strings.Repeat("[", size), deep},
		"inline tables":           {"a = " + strings.Repeat("{a=", size/3), deep},
		"a dotted key":            {strings.Repeat("a.", size/2) + "a = 1", deep},
		"a dotted section":        {"[" + strings.Repeat("a.", size/2) + "a]", deep},
		"quoted parts of keys":    {strings.Repeat(`"a".'a'.`, size/8) + "a = 1", deep},
		"dots on many lines":      {"a = {" + strings.Repeat("a.a.a.a = {\n", size/12), deep},
		"a long section":          {"[" + strings.Repeat("a", size/2) + "]\n" + keys, long},
		"a long quoted one":       {`["` + strings.Repeat("a", size/2) + "\"]\n" + keys, long},
		"a long key":              {strings.Repeat("a", size/2) + " = {\n" + keys, long},
		"a long one before a dot": {`"` + strings.Repeat("]", size/2) + "\".a = {\n" + keys, long},
	} {
		path := writeConfig(t, "# a comment\n"+c.document)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		_, _, err := Load(path, nil)
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), path+": line ") || !strings.Contains(err.Error(), c.rule) {
			t.Errorf("%s: %.300v", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 || took > 10*time.Second {
			t.Errorf("%s: %d bytes were allocated, within %v", name, used, took)
		}
	}
}

// TestALongValueIsNoLongKey: texts and lists may fill a line.
func TestALongValueIsNoLongKey(t *testing.T) {
	origins := strings.TrimSuffix(strings.Repeat(`"https://app.example.org", `, 1000), ", ")
	c, _, err := Load(writeConfig(t, "[whatsapp]\nclient_name = '"+strings.Repeat("=.]", 1000)+"'\n[websocket]\nallowed_origins = ["+origins+"]\n"), nil)
	if err != nil || len(c.WhatsApp.ClientName) != 3000 || len(c.Websocket.AllowedOrigins) != 1000 {
		t.Error(err)
	}
}

func TestTooLargeFileIsRefusedUnparsed(t *testing.T) {
	for size, want := range map[int]string{maxFile: "", maxFile + 1: "has 262145 bytes; a configuration has 262144 at most"} {
		path := writeConfig(t, "#"+strings.Repeat("x", size-2)+"\n")
		if _, _, err := Load(path, nil); (err == nil) != (want == "") || err != nil && err.Error() != path+": "+want {
			t.Errorf("%d bytes: %v, want %q", size, err, want)
		}
	}
	// It claims to have no size, and never ends.
	if _, err := os.Stat("/dev/zero"); err == nil {
		if _, _, err := Load("/dev/zero", nil); err == nil || !strings.Contains(err.Error(), "has more than 262144 bytes") {
			t.Errorf("a file without an end: %v", err)
		}
	}
}

func TestOnlyWhatNestsCounts(t *testing.T) {
	brackets := strings.Repeat("[{.", 50)
	for document, want := range map[string]int{
		``: 0, `a = 1`: 0, `[a]`: 1, `[[a]]`: 2, `[a.b.c]`: 3, `a.b = [[1, [2]], {c.d = 3}]`: 4,
		`a = [[], [], {}, []]`:                       2,
		"a.a = 1\nb.b = 1\nc.c = 1":                  1, // each line for itself
		"a = [\n  'x', # [[[\n  [],\n]\n[b]":         2,
		"a = {\nb.c = {\nd.e = 1}}":                  4, // one statement, whatever its lines
		"# " + brackets + "\r\na = 1":                0,
		`"` + brackets + `" = 1`:                     0,
		`'` + brackets + `' = 1`:                     0,
		`a = "` + brackets + `"`:                     0,
		`a = "\"` + brackets + `"`:                   0,
		`a = '\' # ` + brackets:                      0, // no escape in these
		`a = ["", '', [0]]`:                          2,
		`a = """` + "\n\"" + brackets + "\n" + `"""`: 0,
		`a = ["""x""""", [[0]]]`:                     3, // two of the quotes belong to the text
		`a = ['''x''''', [[0]]]`:                     3,
		`a = """\"""` + brackets + `"""`:             0,
		`a = '''\''', [[0]]`:                         2,
		"a = \"x\n[[[":                               3, // a text ends with its line
		`]]]}}}[[`:                                   2, // no credit for brackets that close nothing
	} {
		if got, _ := extent(document); got.n != want {
			t.Errorf("%.40q: %d levels, want %d", document, got.n, want)
		}
	}
	if deepest, _ := extent("a = 1\n\n[[b]]\nc = 1\n"); deepest.line != 3 {
		t.Errorf("the deepest line is %d, want 3", deepest.line)
	}
}

func TestTheExampleIsFarFromTheBounds(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "config.toml.example"))
	if err != nil {
		t.Fatal(err)
	}
	if levels, key := extent(string(raw)); levels.n > maxNesting/2 || key.n > maxKey/2 || len(raw) > maxFile/16 {
		t.Errorf("%d levels, a key of %d bytes, %d bytes in all", levels.n, key.n, len(raw))
	}
}

// FuzzNesting checks the count against what the parser makes of a document: a
// bracket that was overlooked would be a level more in the tree than was counted.
func FuzzNesting(f *testing.F) {
	for _, s := range []string{
		exampleConfig(), "a = [[[{b.c = [1]}]]]", "[[a.b]]\n[[a.b.c]]\nd.e = {f = []}", `a = ["""x""""", [[[[0]]]]]`, `a = ['''x''''', [[[[0]]]]]`,
		`"a.b".'c[' = "\\" # [[`, "a = \"\"\"\\\"\"\"\" [ \"\"\"\nb = [[[0]]]", "a = 1979-05-27 07:32:00.5\nb = 1.5e3",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, document string) {
		counted, _ := extent(document)
		if len(document) > 4096 || counted.n > 100 {
			return
		}
		var tree map[string]any
		if _, err := toml.Decode(document, &tree); err != nil {
			return
		}
		// A section that is an array of tables stands for two levels, on the way to
		// one below it with a dot alone; the keys in it count again.
		if found := levels(tree) - 1; found > 3*counted.n {
			t.Errorf("%d levels in the tree, %d counted", found, counted.n)
		}
	})
}

// levels returns how deep tables and arrays nest.
func levels(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			n = max(n, levels(e))
		}
		return n + 1
	case []map[string]any:
		for _, e := range v {
			n = max(n, levels(e))
		}
		return n + 1
	case []any:
		for _, e := range v {
			n = max(n, levels(e))
		}
		return n + 1
	}
	return 0
}
