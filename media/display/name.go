package display

import (
	"fmt"
	"mime"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxName      = 200 // bytes
	maxExtension = 32
)

// nameOf returns the name that a file is served under: its sender's, or one of its kind.
func nameOf(sent, kind string, id int64, declared string) string {
	if name := cleaned(sent); strings.Trim(name, "_. ") != "" {
		return name
	}
	plain, _, err := mime.ParseMediaType(declared)
	extension := extensions()[plain]
	if err != nil || extension == "" {
		extension = ".bin"
	}
	return fmt.Sprintf("%s-%d%s", kind, id, extension)
}

// cleaned replaces what a header, a browser or a file system would not take as part of a
// name.
func cleaned(name string) string {
	name = strings.TrimSpace(strings.ToValidUTF8(name, "_"))
	name = strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("/\\:\"'`\u2028\u2029", r), unicode.IsControl(r):
			return '_'
		case r != '\u200c' && r != '\u200d' && unicode.Is(unicode.Cf, r): // the joiners of words and emoji stay
			return '_'
		}
		return r
	}, name)
	bare := strings.TrimLeft(name, ".")
	name = strings.Repeat("_", len(name)-len(bare)) + bare
	name = shortened(name)
	bare = strings.TrimRight(name, ". ")
	name = bare + strings.Repeat("_", len(name)-len(bare))
	if reserved(name) {
		name = shortened("_" + name)
	}
	return name
}

// shortened returns a name of at most maxName bytes, with its extension.
func shortened(name string) string {
	if len(name) <= maxName {
		return name
	}
	extension := path.Ext(name)
	if len(extension) > maxExtension {
		extension = ""
	}
	end := maxName - len(extension)
	for end > 0 && !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + extension
}

// reserved reports whether Windows opens a device under that name.
func reserved(name string) bool {
	name, _, _ = strings.Cut(name, ".")
	name = strings.ToUpper(strings.TrimRight(name, " "))
	switch {
	case slices.Contains([]string{"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}, name):
		return true
	case strings.HasPrefix(name, "COM"), strings.HasPrefix(name, "LPT"):
		return slices.Contains([]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³"}, name[3:])
	}
	return false
}

// Disposition returns a Content-Disposition with the name, in ASCII and in UTF-8.
func Disposition(kind, name string) string {
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' || r == '%' { // some browsers decode a percent sign
			return '_'
		}
		return r
	}, name)
	escaped := strings.NewReplacer("+", "%20", "%7E", "~").Replace(url.QueryEscape(name)) // a plus sign itself is %2B
	return kind + `; filename="` + plain + `"; filename*=UTF-8''` + escaped
}
