package docs

import (
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// docCommand is one curl command of a document.
type docCommand struct {
	line   int    // where it begins
	text   string // "curl …"
	keep   string // the variable that gets a field of the answer, if any
	field  string // that field, for example ".Auth.token"
	status int    // as the document states it
	until  string // asked again until the answer has this text
}

var (
	docStatus = regexp.MustCompile(`(?s)^(.*\S)\s+# (\d{3})(?: until (".*"))?$`)
	docKept   = regexp.MustCompile(`(?s)^([A-Z]+)=\$\((.*?)\s*\| jq -r (\S+)\)$`)
)

// docCommands returns the commands of the blocks marked sh. A command ends at
// the comment with its status.
func docCommands(t *testing.T, page string) []docCommand {
	t.Helper()
	var all []docCommand
	var pending []string
	inside := false
	for i, line := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			if len(pending) > 0 {
				t.Fatalf("line %d: a command has no status: %q", i+1, pending)
			}
			inside = line == "```sh"
		case inside:
			pending = append(pending, line)
			if m := docStatus.FindStringSubmatch(strings.Join(pending, "\n")); m != nil {
				all = append(all, newDocCommand(i+2-len(pending), m))
				pending = nil
			}
		}
	}
	return all
}

func newDocCommand(line int, m []string) docCommand {
	c := docCommand{line: line, text: m[1]}
	c.status, _ = strconv.Atoi(m[2])
	c.until, _ = strconv.Unquote(m[3])
	if kept := docKept.FindStringSubmatch(c.text); kept != nil {
		c.keep, c.text, c.field = kept[1], kept[2], kept[3]
	}
	return c
}

// pick returns a field of a JSON answer as jq -r prints it; field is a path
// like ".records[0].id", or "." for all of it.
func pick(answer []byte, field string) (string, error) {
	if field == "." {
		return string(answer), nil
	}
	var v any
	if err := json.Unmarshal(answer, &v); err != nil {
		return "", err
	}
	for step := range strings.FieldsFuncSeq(field, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(at) {
				return "", fmt.Errorf("no %s in %s", field, answer)
			}
			v = at[i]
		}
	}
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64), nil
	}
	text, ok := v.(string)
	if !ok || text == "" {
		return "", fmt.Errorf("no text at %s in %s", field, answer)
	}
	return text, nil
}

// shellWords splits a command as sh does, with quotes, escapes and variables;
// it knows nothing else of the language, and fails on an unset variable.
func shellWords(text string, vars map[string]string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote byte
	open := false
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch {
		case quote != 0 && b == quote:
			quote = 0
		case quote == '\'':
			word.WriteByte(b)
		case b == '\\' && i+1 < len(text):
			if i++; text[i] != '\n' {
				word.WriteByte(text[i])
			}
		case b == '$':
			name := docVariable.FindString(text[i+1:])
			value, set := vars[name]
			if !set {
				return nil, fmt.Errorf("$%s is not set", name)
			}
			word.WriteString(value)
			i += len(name)
		case quote == 0 && (b == '"' || b == '\''):
			quote, open = b, true
		case quote == 0 && (b == ' ' || b == '\n'):
			if open || word.Len() > 0 {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteByte(b)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote is not closed")
	}
	return append(words, word.String()), nil
}

var docVariable = regexp.MustCompile(`^[A-Z]+`)

// curlRequest makes the request that a curl command stands for. It knows the
// options that the documents use, and fails on any other.
func curlRequest(ctx context.Context, words []string) (*http.Request, error) {
	method, target, body, asQuery := "", "", "", false
	query, header := url.Values{}, http.Header{}
	var form []string
	if len(words) == 0 || words[0] != "curl" {
		return nil, fmt.Errorf("not a curl command: %q", words)
	}
	for rest := words[1:]; len(rest) > 0; rest = rest[1:] {
		option := rest[0]
		switch option {
		case "-s", "--http1.1":
			continue
		case "-G":
			asQuery = true
			continue
		case "-X", "-H", "--json", "-F", "-o", "--max-time", "--data-urlencode", "--data-binary":
			if rest = rest[1:]; len(rest) == 0 {
				return nil, fmt.Errorf("%s has no value", option)
			}
		}
		switch value := rest[0]; option {
		case "-X":
			method = value
		case "-H":
			name, text, _ := strings.Cut(value, ": ")
			header.Add(name, text)
		case "--json":
			body = value
			header.Set("Content-Type", "application/json")
			header.Set("Accept", "application/json")
		case "--data-binary":
			body = value
		case "-F":
			form = append(form, value)
		case "--data-urlencode":
			name, text, _ := strings.Cut(value, "=")
			query.Add(name, text)
		case "-o", "--max-time":
		default:
			if strings.HasPrefix(option, "-") || target != "" {
				return nil, fmt.Errorf("option %q is not known here", option)
			}
			target = option
		}
	}
	if method == "" && (body != "" || len(form) > 0) {
		method = http.MethodPost
	}
	if asQuery {
		target += "?" + query.Encode()
	}
	if len(form) > 0 {
		var err error
		if body, err = multipartBody(form, header); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = header
	return r, nil
}

// multipartBody returns the body of curl's -F options. Files without a folder are those of
// the tests of package media.
func multipartBody(form []string, header http.Header) (string, error) {
	var b strings.Builder
	w := multipart.NewWriter(&b)
	for _, f := range form {
		name, value, _ := strings.Cut(f, "=")
		file, isFile := strings.CutPrefix(value, "@")
		if !isFile {
			if err := w.WriteField(name, value); err != nil {
				return "", err
			}
			continue
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join("media", "testdata", file)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		part, err := w.CreateFormFile(name, filepath.Base(file))
		if err != nil {
			return "", err
		}
		if _, err := part.Write(content); err != nil {
			return "", err
		}
	}
	header.Set("Content-Type", w.FormDataContentType())
	err := w.Close()
	return b.String(), err
}
