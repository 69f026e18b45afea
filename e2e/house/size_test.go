package house

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The size of packages and types. A package that outgrows its limit has more than one thing
// in it: look for the part with types of its own that calls little of the rest.

// maxLines is how many lines a package may have, comments and blanks included, without tests.
const maxLines = 6000

// largePackages may have more lines than others. The figure may fall and not rise.
var largePackages = map[string]int{
	"sandbox/network": 9000, // every feature of WhatsApp's network is here
	"whatsapp":        9000, // every feature of the client library is here
}

// maxMethods is how many methods a type may have, without those that it embeds.
const maxMethods = 100

// largeTypes may have more methods than others. The figure may fall and not rise.
var largeTypes = map[string]int{
	"sandbox/network.Server": 270, // it answers every stanza
}

func TestPackagesAndTypesKeepTheirSize(t *testing.T) {
	lines, methods := map[string]int{}, map[string]int{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(folder)
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines[pkg] += bytes.Count(source, []byte("\n"))
		return countMethods(methods, pkg, source)
	})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "lines", lines, maxLines, largePackages)
	compare(t, "methods", methods, maxMethods, largeTypes)
}

// countMethods adds the methods that a file declares to the numbers of their types.
func countMethods(methods map[string]int, pkg string, source []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range file.Decls {
		fn, is := d.(*ast.FuncDecl)
		if !is || fn.Recv == nil {
			continue
		}
		if name := receiver(fn.Recv.List[0].Type); name != "" {
			methods[pkg+"."+name]++
		}
	}
	return nil
}

// receiver returns the name of the type in a receiver.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

func compare(t *testing.T, what string, found map[string]int, most int, larger map[string]int) {
	t.Helper()
	for name, n := range found {
		limit, is := larger[name]
		if !is {
			limit = most
		}
		if n > limit {
			t.Errorf("%s has %d %s, at most %d are allowed: move a part of it into a package or a type of its own", name, n, what, limit)
		}
	}
	for name, limit := range larger {
		if found[name] <= most {
			t.Errorf("%s has %d %s: remove its row, which allows %d", name, found[name], what, limit)
		}
	}
}
