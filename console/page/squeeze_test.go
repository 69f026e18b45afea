package page

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"testing"
)

func TestMinifiedModulesKeepTheirMeaning(t *testing.T) {
	for written, sent := range map[string]string{
		"// Says why.\nimport { a } from \"./a.js\";\n\n  go(a); // at once\n":   "import{a}from \"./a.js\";go(a);",
		"/** @type {any} */\nlet a; /** @type {any} */\n":                        "let a;",
		"const at = \"http://x // y\";\n":                                        "const at=\"http://x // y\";",
		"go(\"a // b\"); // it's\n":                                              "go(\"a // b\");",
		"const find = /a \\/\\/ b/;\n":                                           "const find=/a \\/\\/ b/;",
		"function f() {\n  if (a) b();\n  return -c;\n}\nexport let d;\n":        "function f(){if(a)b();return-c}export let d;",
		"go(html`<p>\n  two ,  words\n  lines</p>`);\n":                          "go(html`<p>two ,  words\nlines</p>`);",
		"html`<p>\n  ${a}\n  <${B}\n    c=${d}\n  />\n</p>`;\n":                  "html`<p>${a}<${B}\nc=${d}/></p>`;",
		"a = b - -c + +d / e ? [f, g] : { h };\n":                                "a=b- -c+ +d / e?[f,g]:{h};",
		"return /[/ \"] , \\/ /.test(a) ? 'b : \"' : \"\\\" , \";\n":             "return /[/ \"] , \\/ /.test(a)?'b : \"':\"\\\" , \";",
		"x(`a , ${{ b: `c ; ${ d } ? ` } } : \\` , ${e => { f(); }} ; ` , g);\n": "x(`a , ${{b:`c ; ${d} ? `}} : \\` , ${e=>{f();}} ; `,g);",
	} {
		if got := string(minified([]byte(written))); got != sent {
			t.Errorf("%q is sent as %q", written, got)
		}
	}
	const style = "/* Two\n   lines. */\n.a { color: red; } /* why */\n.a:hover > .b,\n.c :focus {\n  margin: 0 var(--s1);\n  grid-area: a\n    b; }\n@media (width >= 40rem) { .a { top: 0; } }\n"
	if got, want := string(squeezed([]byte(style))), "\n.a{color:red}.a:hover>.b,.c :focus{margin:0 var(--s1);grid-area:a\n    b}@media (width>= 40rem){.a{top:0}}"; got != want {
		t.Errorf("a style is sent as %q, not %q", got, want)
	}
}

// TestLanguageTablesKeepTheEnglishOrder checks the served modules against the tables, and
// that all begin with the same checksum.
func TestLanguageTablesKeepTheEnglishOrder(t *testing.T) {
	keyed, lists := tables(t), map[string][]string{}
	var keys []string
	for language := range keyed {
		raw, err := wordsModule(language)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			line = strings.TrimSuffix(line, ";\n")
			if text, is := strings.CutPrefix(line, "export const keys="); is && language == english {
				keys = strings.Split(strings.Trim(text, `"`), " ")
			} else if text, is := strings.CutPrefix(line, "export default "); !is || json.Unmarshal([]byte(text), new([]string)) != nil {
				t.Errorf("%s has the line %.100s", language, line)
			} else {
				list := []string{}
				_ = json.Unmarshal([]byte(text), &list) // it is a list, see above
				lists[language] = list
			}
		}
	}
	for i, key := range keys {
		if strings.HasPrefix(key, ".") {
			before := keys[i-1]
			key = before[:strings.LastIndex(before, ".")] + key
			keys[i] = key
		}
		for language, list := range lists {
			if want := keyed[language][key]; i > 0 && (i >= len(list) || list[i] != want || want == "") || i == 0 && list[0] != lists[english][0] {
				t.Fatalf("%s has another text as %d, %q", language, i, key)
			}
		}
	}
	if len(keys) != len(keyed[english])+1 || len(lists) != 3 {
		t.Errorf("%d keys in %d languages", len(keys), len(lists))
	}
}

// TestGroupedModulesHaveDistinctNames checks what the modules of a file declare and import at
// the top level, which a browser would refuse to load otherwise.
func TestGroupedModulesHaveDistinctNames(t *testing.T) {
	imports := regexp.MustCompile(`(?m)^import \{([^}]*)\} from "([^"]+)";$`)
	declared := regexp.MustCompile(`(?m)^(?:export )?(?:(?:async )?(?:function|class) (\w+)|(?:const|let) (?:(\w+)|\{([^}]*)\} =|\[([^\]]*)\] =))`)
	for group, parts := range groups {
		from := map[string]string{} // where a name is from
		add := func(where string, names ...string) {
			for _, name := range names {
				if name = strings.TrimSpace(name); name != "" && from[name] != "" && from[name] != where {
					t.Errorf("%s: %s is from %s and from %s", group, name, from[name], where)
				}
				from[name] = where
			}
		}
		for _, part := range parts {
			name := "console/" + part + ".js"
			raw, err := files.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			code := string(raw)
			for _, found := range imports.FindAllStringSubmatch(code, -1) {
				where := path.Join(path.Dir(name), found[2])
				if !strings.HasPrefix(found[2], ".") {
					where = found[2]
				}
				for one := range strings.SplitSeq(found[1], ",") {
					own, alias, renamed := strings.Cut(one, " as ")
					if renamed && groupOf(where) == group {
						t.Errorf("%s renames %s, which is in its own file", name, own)
					}
					if renamed {
						own = alias
					}
					add(where, own)
				}
			}
			for _, found := range declared.FindAllStringSubmatch(code, -1) {
				add(name, found[1], found[2])
				add(name, strings.Split(found[3]+","+found[4], ",")...)
			}
		}
	}
}
