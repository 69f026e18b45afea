package config

import (
	"crypto/tls"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Bounds on files, checked before they are parsed. The parser of TOML recurses
// into brackets and keeps every key with its parents, so that without
// limits a file of a megabyte makes it allocate without end.

const (
	maxFile    = 256 << 10 // bytes of a configuration file; config.toml.example has 6 KiB
	maxNesting = 8         // levels in it; no setting needs more than four
	maxKey     = 128       // bytes of a key with its dots; no setting has more than 40
)

// readDocument reads the configuration file at path, and refuses input that would cost
// the parser more than a configuration may. The errors name the file and never
// show its content.
func readDocument(path string) (string, error) {
	raw, info, err := readBounded(path, maxFile)
	if err != nil {
		return "", fmt.Errorf("configuration: %w", err)
	}
	if len(raw) > maxFile {
		has := strconv.FormatInt(info.Size(), 10)
		if info.Size() < int64(len(raw)) { // a pipe or a device
			has = fmt.Sprintf("more than %d", maxFile)
		}
		return "", fmt.Errorf("%s: has %s bytes; a configuration has %d at most", path, has, maxFile)
	}
	if len(raw) == 0 && info.Mode()&fs.ModeNamedPipe != 0 { // which was read before: all settings would have their defaults
		return "", fmt.Errorf("%s: the pipe is empty", path)
	}
	document := string(raw)
	switch levels, key := extent(document); {
	case levels.n > maxNesting:
		return "", fmt.Errorf("%s: line %d: arrays, tables and dotted keys nest deeper than %d levels", path, levels.line, maxNesting)
	case key.n > maxKey:
		return "", fmt.Errorf("%s: line %d: a key has more than %d bytes", path, key.line, maxKey)
	}
	return document, nil
}

// MaxPEM is the maximum size of a file of certificates or a key, in bytes: more than all
// authorities of a system.
const MaxPEM = 4 << 20

// ReadSmall reads a file of at most that many bytes. A longer one, such as a
// device, is an error.
func ReadSmall(path string, most int64) ([]byte, error) {
	raw, _, err := readBounded(path, most)
	if err == nil && int64(len(raw)) > most {
		return nil, fmt.Errorf("%s has more than %d bytes", path, most)
	}
	return raw, err
}

// KeyPair reads the certificate and key of two files.
func KeyPair(cert, key string) (tls.Certificate, error) {
	proof, err := ReadSmall(cert, MaxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	secret, err := ReadSmall(key, MaxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(proof, secret)
}

// readBounded reads the file at path, but of a larger one at most one byte more than
// most.
func readBounded(path string, most int64) ([]byte, fs.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	return raw, info, err
}

// most is the largest number noted, with its line.
type most struct{ n, line int }

func (m *most) note(n, line int) {
	if n > m.n {
		*m = most{n, line}
	}
}

// extent returns how deep a statement of the TOML document nests, counting the open
// brackets and the dots in its keys, and how long a key is.
// Texts and comments do not nest. They are recognised as the parser does it up to
// the first mistake, behind which it reads no further.
func extent(document string) (levels, key most) {
	brackets, dots, line := 0, 0, 1
	began, section := 0, true // where what may be a key began; whether it may be that of a section
	for i := 0; i < len(document); i++ {
		switch document[i] {
		case '#':
			if end := strings.IndexByte(document[i:], '\n'); end >= 0 {
				i += end - 1 // the line break ends the statement, too
			} else {
				i = len(document)
			}
		case '"', '\'':
			end := endOfText(document, i)
			line += strings.Count(document[i:end], "\n")
			i = end - 1
		case '[', '{':
			brackets++
			began = i + 1
		case ']', '}':
			brackets = max(0, brackets-1)
			if section {
				key.note(i-began, line)
			}
		case '=':
			key.note(i-began, line)
			began, section = i+1, false
		case ',':
			began = i + 1
		case '.':
			dots++
			key.note(i-began, line)
		case '\n':
			line++
			began = i + 1
			if brackets == 0 {
				dots, section = 0, true
			}
		}
		levels.note(brackets+dots, line)
	}
	return levels, key
}

// endOfText returns the index behind the text that begins with the quote at start. One
// with a single quote at each side ends with its line; one with three may hold up
// to two of them, also before those that end it.
func endOfText(document string, start int) int {
	quote := document[start]
	i, long := start+1, strings.HasPrefix(document[start:], strings.Repeat(string(quote), 3))
	if long {
		i += 2
	}
	for i < len(document) {
		switch {
		case document[i] == '\\' && quote == '"':
			i += 2
		case document[i] == '\n' && !long:
			return i
		case document[i] != quote:
			i++
		case !long:
			return i + 1
		default:
			rest := strings.TrimLeft(document[i:], string(quote))
			run := len(document) - i - len(rest)
			i += run
			if run >= 3 {
				return i
			}
		}
	}
	return len(document)
}
