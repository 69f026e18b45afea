package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// The folder of the tables of words: a folder a language, a file a part of the page.
const (
	wordsFolder = "console/words"
	english     = "en"
)

// styles are the styles of the console in the order in which they stand; they are sent as one.
var styles = []string{"tokens", "base", "parts", "floats", "shell", "pages", "keep", "work"}

const stylesFile = "console/style.css"

// allStyles is what is sent at stylesFile.
func allStyles() ([]byte, error) {
	var all []byte
	for _, name := range styles {
		name = "console/style/" + name + ".css"
		raw, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, squeeze(name, raw)...)
	}
	return all, nil
}

// isPartOfStyles tells whether a file is sent with the others, see [styles].
func isPartOfStyles(name string) bool {
	part, is := strings.CutPrefix(name, "console/style/")
	return is && slices.Contains(styles, strings.TrimSuffix(part, ".css"))
}

// squeeze leaves out what only people read of a module or a style of the page: comments,
// indentation, empty lines, spaces around marks and, in a style, line ends around them. It
// changes nothing else, and every line of a module that stays is on its own: what runs is
// what is written.
func squeeze(name string, raw []byte) []byte {
	own := strings.HasPrefix(name, "console/") && (path.Ext(name) == ".js" || path.Ext(name) == ".css")
	if !own {
		return raw
	}
	out := make([]byte, 0, len(raw))
	style := path.Ext(name) == ".css"
	within := false // a comment of a style goes over several lines
	for line := range bytes.Lines(raw) {
		line = bytes.TrimSpace(line)
		begins := style && bytes.HasPrefix(line, []byte("/*"))
		switch {
		case begins || within:
			within = !bytes.HasSuffix(line, []byte("*/"))
		case len(line) > 0 && !bytes.HasPrefix(line, []byte("//")):
			out = append(append(out, uncommented(line)...), '\n')
		}
	}
	if style {
		return tight.ReplaceAll(out, []byte("$1$2$3"))
	}
	return tightModule(out)
}

// tight finds what a style does not need around its marks: white space, and the semicolon
// behind the last declaration of a rule.
var tight = regexp.MustCompile(`;\s*(})\s*|\s*([{};,>])\s*|(:) `)

// uncommented is a line without the comment at its end. What stands behind a quote that is
// still open is a text, and stays.
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

// tightModule leaves out the spaces beside the marks of a module's code, but those of
// arithmetic. Texts, templates and patterns stay as they are, what is calculated within a
// template is code again.
func tightModule(in []byte) []byte {
	out := make([]byte, 0, len(in))
	var within []int // of each template around what is read: the braces that are open in its ${
	for len(in) > 0 {
		n, last := 1, len(within)-1
		switch c := in[0]; {
		case c == '"' || c == '\'':
			n = until(in, func(rest []byte) bool { return rest[0] == c })
		case c == '/' && beginsPattern(out):
			class := false // within brackets a slash is one
			n = until(in, func(rest []byte) bool {
				class = rest[0] == '[' || class && rest[0] != ']'
				return rest[0] == '/' && !class
			})
		case c == '`':
			if n = template(in); in[n-1] == '{' {
				within = append(within, 0)
			}
		case c == '}' && last >= 0 && within[last] == 0:
			if n = template(in); in[n-1] == '`' {
				within = within[:last]
			}
		case c == '{' && last >= 0:
			within[last]++
		case c == '}' && last >= 0:
			within[last]--
		case c == ' ' && (len(out) > 0 && isMark(out[len(out)-1]) || len(in) > 1 && isMark(in[1])):
			in = in[1:]
			continue
		}
		out, in = append(out, in[:n]...), in[n:]
	}
	return out
}

// isMark tells whether a space beside c parts nothing in a module.
func isMark(c byte) bool { return strings.IndexByte("=,:;?(){}[]<>&|!\n", c) >= 0 }

// beginsPattern tells whether a slash behind code begins a pattern: it divides what ends
// with a name, a number or a closing bracket.
func beginsPattern(code []byte) bool {
	code = bytes.TrimRight(code, " \n")
	return len(code) == 0 || strings.IndexByte("(,=:[!&|?{};+-*%<>~^", code[len(code)-1]) >= 0 || bytes.HasSuffix(code, []byte("return"))
}

// template is the length of the text of a template that begins at a quote or behind a
// value, up to its end or the next value, with what ends it.
func template(in []byte) int {
	n := until(in, func(rest []byte) bool { return rest[0] == '`' || bytes.HasPrefix(rest, []byte("${")) })
	if in[n-1] == '$' {
		n++ // the brace
	}
	return n
}

// until is the length of what ends where end says, from its second character on; what
// stands behind a backslash does not end it.
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

// wordsOf is the table of a language, put together of its parts.
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

// wordsModule is the module of a language. English has its keys; the others are
// lists in the order of those, so that a key is sent once. Before all others is one of
// no name, which tells which keys there are.
func wordsModule(language string) ([]byte, error) {
	keyed, err := wordsOf(english)
	if err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(keyed))
	for key := range keyed {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	table, err := wordsOf(language)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(strings.Join(keys, " ")))
	keys, table[""] = slices.Insert(keys, 0, ""), hex.EncodeToString(sum[:4])
	var out bytes.Buffer
	encode := json.NewEncoder(&out)
	encode.SetEscapeHTML(false)
	out.WriteString("export default ")
	if language == english {
		err = encode.Encode(table) // by its keys, in their order
	} else {
		list := make([]string, len(keys))
		for i, key := range keys {
			list[i] = table[key]
		}
		err = encode.Encode(list)
	}
	return append(bytes.TrimSpace(out.Bytes()), ';', '\n'), err
}
