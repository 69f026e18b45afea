package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The translation tables: one folder per language, one file per part of the page.
const (
	wordsFolder = "console/words"
	english     = "en"
)

// styles lists the parts of the style sheet in order; they are sent as one file.
var styles = []string{"tokens", "base", "parts", "floats", "shell", "pages", "keep", "work"}

const stylesFile = "console/style.css"

// groups lists the modules that are sent as one file, by its name: they are always loaded
// together or compress better together. Their names at the top level, and what they import,
// must be distinct; a test checks it.
var groups = map[string][]string{
	"console/core.js": {
		"html", "router", "routes", "shell", "theme", "words",
		"data/api", "data/cell", "data/drafts", "data/fleet", "data/live", "data/loaded", "data/messages", "data/sandbox", "data/session", "data/states", "data/troubles",
		"pages/signin", "ui/float", "ui/form", "ui/icon", "ui/palette", "ui/parts", "ui/sheet", "ui/windowed",
	},
	"console/pairing.js":        {"pairing/flow", "pairing/steps"},
	"console/pages/overview.js": {"pages/overview", "data/samples", "ui/chart"},
	"console/pages/instances.js": {
		"pages/instances", "pages/instance", "pages/instance_actions", "pages/instance_many", "pages/instance_rows", "data/work", "pages/instance_events", "pages/instance_options", "pages/instance_proxy",
		"pages/instance_settings", "pages/instance_state", "pages/instance_webhook", "pairing/dialog",
		"ui/beside", "pages/deliveries", "pages/deliveries_one", "pages/deliveries_replay", "pages/receivers", "data/events", "ui/editors",
	},
	"console/pages/talk.js":    {"pages/batches", "pages/batch_items", "pages/batch_new", "pages/batch_new_how", "pages/batch_new_who", "pages/batch_one", "pages/batch_state", "pages/chats", "pages/chat_compose", "pages/chat_message", "pages/chat_talk", "data/seen", "data/talk"},
	"console/pages/keeping.js": {"pages/keys", "pages/keep", "pages/log", "pages/sandbox", "pages/webhook"},
}

// groupOf returns the group of a module, or its own name.
func groupOf(name string) string {
	part := strings.TrimSuffix(strings.TrimPrefix(name, "console/"), ".js")
	for group, parts := range groups {
		if slices.Contains(parts, part) {
			return group
		}
	}
	return name
}

// imported matches an import of a module, and loaded an import on demand.
var (
	imported = regexp.MustCompile(`(?m)^import (?:\{([^}]*)\} from )?"([^"]+)";\n`)
	loaded   = regexp.MustCompile(`\bimport\("(\.[^"]+)"\)`)
)

// merger collects the modules of a group, each after those that it imports.
type merger struct {
	name  string // of the group
	done  map[string]bool
	code  []byte
	froms []string            // the other files from which it imports, in order
	names map[string][]string // what it imports, by file
}

// module returns the served form of a module or group.
func module(name string) ([]byte, error) {
	m := &merger{name: name, done: map[string]bool{}, names: map[string][]string{}}
	parts := groups[name]
	if parts == nil {
		parts = []string{strings.TrimSuffix(strings.TrimPrefix(name, "console/"), ".js")}
	}
	for _, part := range parts {
		if err := m.add("console/" + part + ".js"); err != nil {
			return nil, err
		}
	}
	var out []byte
	for _, from := range m.froms {
		out = append(out, "import{"+strings.Join(m.names[from], ",")+"}from "+strconv.Quote(from)+";\n"...)
	}
	return minified(append(out, m.code...)), nil
}

// add appends a module of the group, unless that is done.
func (m *merger) add(part string) error {
	if m.done[part] {
		return nil
	}
	m.done[part] = true
	code, err := files.ReadFile(part)
	if err != nil {
		return err
	}
	for _, found := range imported.FindAllSubmatch(code, -1) {
		from := m.address(part, string(found[2]))
		if from == "" {
			if err := m.add(path.Join(path.Dir(part), string(found[2]))); err != nil {
				return err
			}
			continue
		}
		if m.names[from] == nil {
			m.froms = append(m.froms, from)
		}
		for one := range strings.SplitSeq(string(found[1]), ",") {
			if one = strings.TrimSpace(one); one != "" && !slices.Contains(m.names[from], one) {
				m.names[from] = append(m.names[from], one)
			}
		}
	}
	code = imported.ReplaceAll(code, nil)
	m.code = append(m.code, loaded.ReplaceAllFunc(code, func(call []byte) []byte {
		return []byte("import(" + strconv.Quote(m.address(part, string(loaded.FindSubmatch(call)[1]))) + ")")
	})...)
	return nil
}

// address returns where the group finds what a part of it imports, "" for within the group.
func (m *merger) address(part, from string) string {
	if !strings.HasPrefix(from, ".") {
		return from // in the import map
	}
	to := groupOf(path.Join(path.Dir(part), from))
	if to == m.name {
		return ""
	}
	up := strings.Repeat("../", strings.Count(strings.TrimPrefix(path.Dir(m.name)+"/", "console/"), "/"))
	if up == "" {
		up = "./"
	}
	return up + strings.TrimPrefix(to, "console/")
}

// allStyles returns the content of stylesFile.
func allStyles() ([]byte, error) {
	var all []byte
	for _, name := range styles {
		name = "console/style/" + name + ".css"
		raw, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, squeezed(raw)...)
	}
	return all, nil
}

// isPartOfStyles reports whether a file is one of [styles].
func isPartOfStyles(name string) bool {
	part, is := strings.CutPrefix(name, "console/style/")
	return is && slices.Contains(styles, strings.TrimSuffix(part, ".css"))
}

// minified returns a module without comments, indentation, line ends and the spaces around punctuation. It changes
// nothing else.
func minified(module []byte) []byte {
	out := make([]byte, 0, len(module))
	within := false // inside a comment of several lines
	for line := range bytes.Lines(module) {
		line = bytes.TrimSpace(line)
		switch {
		case within || bytes.HasPrefix(line, []byte("/*")):
			within = !bytes.HasSuffix(line, []byte("*/"))
		case len(line) > 0 && !bytes.HasPrefix(line, []byte("//")):
			out = append(append(out, uncommented(line)...), '\n')
		}
	}
	return tightModule(out)
}

// uncommented returns a line without its trailing comment. It keeps text after an open
// quote.
func uncommented(line []byte) []byte {
	at := bytes.LastIndex(line, []byte(" // "))
	if bytes.HasSuffix(line, []byte("*/")) {
		at = bytes.LastIndex(line, []byte(" /*"))
	}
	if at < 0 {
		return line
	}
	for _, quote := range []string{`"`, "'", "`"} {
		if bytes.Count(line[:at], []byte(quote))%2 != 0 {
			return line
		}
	}
	return bytes.TrimRight(line[:at], " ")
}

// tightModule removes the spaces beside punctuation and the line ends in the code of a module
// whose statements end with semicolons. It keeps strings and regular expressions unchanged, and templates
// but for line ends around tags, which htm removes; an expression within a template is code
// again.
func tightModule(in []byte) []byte {
	out := make([]byte, 0, len(in))
	var within []int // for each enclosing template, the open braces in its ${
	for len(in) > 0 {
		n, last, text := 1, len(within)-1, false
		switch c := in[0]; {
		case c == '"' || c == '\'':
			n = until(in, func(rest []byte) bool { return rest[0] == c })
		case c == '/' && beginsPattern(out):
			class := false // within brackets a slash is literal
			n = until(in, func(rest []byte) bool {
				class = rest[0] == '[' || class && rest[0] != ']'
				return rest[0] == '/' && !class
			})
		case c == '`':
			if n, text = template(in), true; in[n-1] == '{' {
				within = append(within, 0)
			}
		case c == '}' && last >= 0 && within[last] == 0:
			if n, text = template(in), true; in[n-1] == '`' {
				within = within[:last]
			}
		case c == '{' && last >= 0:
			within[last]++
		case c == '}' && last >= 0:
			within[last]--
		case c == ' ' && len(out) > 0 && len(in) > 1 && isApart(out[len(out)-1], in[1]):
			in = in[1:]
			continue
		case c == '\n' && (len(out) > 0 && ends(out[len(out)-1]) || len(in) > 1 && strings.IndexByte(")]}.?:", in[1]) >= 0):
			in = in[1:]
			continue
		case c == ';' && bytes.HasPrefix(in[1:], []byte("\n}")):
			in = in[2:]
			continue
		case c == ',' && len(in) > 2 && in[1] == '\n' && strings.IndexByte(")]}", in[2]) >= 0:
			in = in[2:]
			continue
		}
		if text {
			out = append(out, aroundTags.ReplaceAll(in[:n], []byte("$1$2"))...)
		} else {
			out = append(out, in[:n]...)
		}
		in = in[n:]
	}
	return out
}

// aroundTags matches a line end after a tag, before one or before its end.
var aroundTags = regexp.MustCompile(`(>)\n+|\n+(<|/?>)`)

// ends reports whether a line end after c has no meaning.
func ends(c byte) bool { return strings.IndexByte("{([,=&|?:;}", c) >= 0 }

// isApart reports whether a space between two characters of a module has no meaning. One of a + before a + or a - before
// a - has.
func isApart(before, after byte) bool {
	const marks = "=,:;?(){}[]<>&|!\n*%+-"
	return (strings.IndexByte(marks, before) >= 0 || strings.IndexByte(marks, after) >= 0) && (before != after || before != '+' && before != '-')
}

// beginsPattern reports whether a slash after code begins a regular expression. After a
// name, a number or a closing bracket it is a division.
func beginsPattern(code []byte) bool {
	code = bytes.TrimRight(code, " \n")
	return len(code) == 0 || strings.IndexByte("(,=:[!&|?{};+-*%<>~^", code[len(code)-1]) >= 0 || bytes.HasSuffix(code, []byte("return"))
}

// template returns the length of the template text that begins at a quote or after an
// expression, up to and including its end or the start of the next expression.
func template(in []byte) int {
	n := until(in, func(rest []byte) bool { return rest[0] == '`' || bytes.HasPrefix(rest, []byte("${")) })
	if in[n-1] == '$' {
		n++ // the brace
	}
	return n
}

// until returns the length of in up to and including the first character that end accepts,
// after the first one. It skips characters after a backslash.
func until(in []byte, end func(rest []byte) bool) int {
	for i := 1; i < len(in); i++ {
		if in[i] == '\\' {
			i++
		} else if end(in[i:]) {
			return i + 1
		}
	}
	return len(in)
}

// squeezed returns a style sheet without comments, indentation and spaces around punctuation.
func squeezed(style []byte) []byte {
	return tight.ReplaceAll(comment.ReplaceAll(style, nil), []byte("$1$2$3"))
}

// comment matches a comment of a style sheet, and tight the white space around its punctuation and the semicolon after
// the last declaration of a rule.
var (
	comment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	tight   = regexp.MustCompile(`;\s*(})\s*|\s*([{};,>])\s*|(:) `)
)

// wordsOf returns the merged table of a language.
func wordsOf(language string) (map[string]string, error) {
	table := map[string]string{}
	names, err := fs.Glob(files, path.Join(wordsFolder, language, "*.js"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		raw, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		text := bytes.TrimSuffix(bytes.TrimPrefix(bytes.TrimSpace(raw), []byte("export default ")), []byte(";"))
		if err := json.Unmarshal(text, &table); err != nil {
			return nil, err
		}
	}
	return table, nil
}

// wordsModule returns the module of a language: the list of its texts in the order of the
// English keys, which only English has too. The first text, with an empty key, is a checksum
// of the keys.
func wordsModule(language string) ([]byte, error) {
	keyed, err := wordsOf(english)
	if err != nil {
		return nil, err
	}
	table, err := wordsOf(language)
	if err != nil {
		return nil, err
	}
	keys := slices.Sorted(maps.Keys(keyed))
	sum := sha256.Sum256([]byte(strings.Join(keys, " ")))
	list := []string{hex.EncodeToString(sum[:4])}
	for _, key := range keys {
		list = append(list, table[key])
	}
	var out bytes.Buffer
	encode := json.NewEncoder(&out)
	encode.SetEscapeHTML(false)
	if language == english {
		out.WriteString("export const keys=" + strconv.Quote(frontCoded(keys)) + ";\n")
	}
	out.WriteString("export default ")
	err = encode.Encode(list)
	return append(bytes.TrimSpace(out.Bytes()), ';', '\n'), err
}

// frontCoded returns sorted keys in one text, each after a space. A key with the same
// beginning as the one before it, up to its last dot, is sent from that dot on.
func frontCoded(keys []string) string {
	var out strings.Builder
	before := ""
	for _, key := range keys {
		dot := max(0, strings.LastIndexByte(key, '.'))
		out.WriteByte(' ')
		if dot > 0 && key[:dot] == before {
			out.WriteString(key[dot:])
		} else {
			out.WriteString(key)
		}
		before = key[:dot]
	}
	return out.String()
}
