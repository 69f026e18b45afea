package httpapi

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"postern/httpapi/rest"
)

// sources parses the files of a package folder without its tests.
func sources(t *testing.T, folder string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v", folder, err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// literal returns the text of a string literal, "" for anything else.
func literal(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(lit.Value)
	return text
}

// constants returns the string constants of files by name.
func constants(files []*ast.File) map[string]string {
	found := map[string]string{}
	each(files, func(n ast.Node) {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != len(spec.Names) {
			return
		}
		for i, name := range spec.Names {
			if text := literal(spec.Values[i]); text != "" {
				found[name.Name] = text
			}
		}
	})
	return found
}

// arguments returns the literals and constants given as argument number arg to
// the function or struct called name.
func arguments(files []*ast.File, name string, arg int) []string {
	named := constants(files)
	var found []string
	add := func(called ast.Expr, args []ast.Expr) {
		if named, ok := nameOf(called); !ok || named != name || arg >= len(args) {
			return
		}
		text := literal(args[arg])
		if id, ok := nameOf(args[arg]); ok {
			text = named[id]
		}
		if text != "" {
			found = append(found, text)
		}
	}
	each(files, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.CallExpr:
			add(n.Fun, n.Args)
		case *ast.CompositeLit:
			if n.Type != nil {
				add(n.Type, n.Elts)
			}
		}
	})
	return found
}

// nameOf returns the name that an expression consists of, without its package.
func nameOf(e ast.Expr) (name string, ok bool) {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name, true
	case *ast.SelectorExpr:
		return e.Sel.Name, true
	}
	return "", false
}

// fields returns the constants given to a field of another package's struct
// called name.
func fields(files []*ast.File, name, field string) []string {
	named := constants(files)
	var found []string
	each(files, func(n ast.Node) {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return
		}
		if sel, ok := lit.Type.(*ast.SelectorExpr); !ok || sel.Sel.Name != name {
			return
		}
		for _, e := range lit.Elts {
			kv, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			key, value := kv.Key.(*ast.Ident), kv.Value
			if id, ok := nameOf(value); ok && key.Name == field && named[id] != "" {
				found = append(found, named[id])
			}
		}
	})
	return found
}

// codesOf returns the codes that a package declares.
func codesOf(files []*ast.File) (codes []string) {
	for name, text := range constants(files) {
		if strings.HasPrefix(name, "Code") {
			codes = append(codes, text)
		}
	}
	return codes
}

func each(files []*ast.File, visit func(ast.Node)) {
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			visit(n)
			return true
		})
	}
}

// TestEveryCodeIsDescribed reads the sources, so that it covers every code where it is declared.
func TestEveryCodeIsDescribed(t *testing.T) {
	own, sandbox := slices.Concat(sources(t, "."), sources(t, "rest"), sources(t, "ref"), sources(t, "operator"), sources(t, "instances"), sources(t, "chats"), sources(t, "sends"), sources(t, "batches"), sources(t, "deliveries"), sources(t, "sockets")), sources(t, filepath.Join("..", "sandbox"))
	used := map[string][]string{
		"an argument of Refuse": arguments(own, "Refuse", 1),
		"a code of strict":      codesOf(sources(t, "strict")),
		"a code of a form":      fields(own, "Error", "Code"),
		"the batch's invalid":   arguments(sources(t, filepath.Join("..", "batch")), "invalid", 0),
		"the sandbox's refusef": arguments(sandbox, "refusef", 1),
		"the sandbox's refused": arguments(sandbox, "refused", 1),
	}
	for _, m := range errorTable() {
		used["the error table"] = append(used["the error table"], m.code)
	}
	for where, codes := range used {
		if len(codes) == 0 {
			t.Errorf("%s: none found; does the test still look at the right place?", where)
		}
		for _, code := range codes {
			if !slices.ContainsFunc(Codes(), func(c Code) bool { return c.Code == code }) {
				t.Errorf("%s (%s) has no row in Codes", code, where)
			}
		}
	}
}

func TestCodesAreDescribedInWholeSentences(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Codes() {
		if seen[c.Code] {
			t.Errorf("%s is there twice", c.Code)
		}
		seen[c.Code] = true
		if c.Status < 400 || !strings.HasSuffix(c.Meaning, ".") || !strings.HasSuffix(c.Next, ".") {
			t.Errorf("%+v is not complete", c)
		}
	}
}

func TestTheDescribedStatusIsTheAnsweredOne(t *testing.T) {
	for _, m := range errorTable() {
		for _, c := range Codes() {
			if c.Code == m.code && c.Status != m.status && c.Also != m.status {
				t.Errorf("%s is described with %d and answered with %d", c.Code, c.Status, m.status)
			}
		}
	}
}

func Test503And429HaveRetryAfter(t *testing.T) {
	for _, c := range Codes() {
		if (c.Status == 503 || c.Status == 429) != (c.RetryAfter > 0) {
			t.Errorf("%s: status %d with RetryAfter %d", c.Code, c.Status, c.RetryAfter)
		}
	}
	for _, m := range errorTable() {
		a := bare(io.Discard, rest.Route{Method: "GET", Path: "/x", Auth: rest.Public, Right: rest.Never, Handle: fails(m.err)})
		got := do(a, httptest.NewRequest("GET", "/x", nil)).Header.Get("Retry-After")
		if m.status != 503 && m.status != 429 {
			if got != "" {
				t.Errorf("%v: Retry-After %q", m.err, got)
			}
			continue
		}
		if n, err := strconv.Atoi(got); err != nil || n < 1 || n > 3600 {
			t.Errorf("%v: Retry-After %q", m.err, got)
		}
	}
}
