package template

import (
	"strings"
	"testing"
)

func render(t *testing.T, s string, spin bool, values map[string]string, choices ...int) string {
	t.Helper()
	parsed, err := Parse(s, spin)
	if err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return parsed.Render(func(name string) string { return values[name] }, func(n int) int {
		c := choices[0] % n
		choices = choices[1:]
		return c
	})
}

func TestATextIsRendered(t *testing.T) {
	values := map[string]string{"name": "Ana", "first name": "Ana B", "empty": "", "sly": "{{name}} {a|b} {{{", "имя": "Анна", "a.b-c_1": "ok"}
	for _, c := range []struct {
		text, want string
		spin       bool
		choices    []int
	}{
		{text: "", want: ""},
		{text: "plain | } { text", want: "plain | } { text"},
		{text: "Hi {{name}}!", want: "Hi Ana!"},
		{text: "{{ name }}{{first name}}", want: "AnaAna B"},
		{text: "{{имя}} {{a.b-c_1}}", want: "Анна ok"},
		{text: "Hi {{empty}}.", want: "Hi ."},
		{text: "Hi {{empty|there}}.", want: "Hi there."},
		{text: "Hi {{absent | my friend }}.", want: "Hi my friend."},
		{text: "Hi {{absent|}}.", want: "Hi ."},
		{text: "{{absent|a|b}}", want: "a|b"},
		{text: "{{{name}}", want: "{{name}}"},
		{text: "{{sly}}", want: "{{name}} {a|b} {{{"},
		{text: "{a|b}", want: "{a|b}"},
		{text: "{a|b}", want: "b", spin: true, choices: []int{1}},
		{text: "{Hello|Hi {{name}}|}, {x|y}", want: "Hi Ana, x", spin: true, choices: []int{1, 0}},
		{text: "{Hello||Hey}", want: "", spin: true, choices: []int{1}},
		{text: "{a{1|2}|b}", want: "a2", spin: true, choices: []int{0, 1}},
		{text: "{only} {", want: "{only} {", spin: true},
		{text: "{a|{{name}}", want: "{a|Ana", spin: true},
		{text: "{{sly}}", want: "{{name}} {a|b} {{{", spin: true},
		{text: "a|b}", want: "a|b}", spin: true},
		{text: "{{absent|{x|y}}}", want: "{x|y}", spin: true},
	} {
		if got := render(t, c.text, c.spin, values, c.choices...); got != c.want {
			t.Errorf("%q (alternatives %t): %q, want %q", c.text, c.spin, got, c.want)
		}
	}
}

func TestAMalformedTextIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"Hé {{name":                           "the {{ at character 4 has no }}",
		"{{}}":                                "1 to 64 letters",
		"{{ |x}}":                             "1 to 64 letters",
		"{{a,b}}":                             `"a,b" is not a name`,
		"{{" + strings.Repeat("n", 65) + "}}": "1 to 64 letters",
		"{{a\nb}}":                            "is not a name",
		strings.Repeat("{", 2000):             "{{",
		strings.Repeat("{a", 40) + "}":        "at most 16",
	} {
		if _, err := Parse(text, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

func TestVariablesOfAllAlternativesAreNamed(t *testing.T) {
	parsed, err := Parse("{{a}} {x {{b|c}}|{{d}}}", true)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range parsed.Variables() {
		if v.Optional {
			v.Name += "?"
		}
		got = append(got, v.Name)
	}
	if s := strings.Join(got, " "); s != "a b? d" {
		t.Error(s)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("{{name}} {a|{b|c}} {{{ {", true)
	f.Fuzz(func(t *testing.T, s string, spin bool) {
		parsed, err := Parse(s, spin)
		if err != nil {
			return
		}
		if len(parsed.Variables()) == 0 && !spin && !strings.Contains(s, "{{{") {
			if got := parsed.Render(func(string) string { return "" }, func(int) int { return 0 }); got != s {
				t.Errorf("%q became %q", s, got)
			}
		}
	})
}
