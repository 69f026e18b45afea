package batch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postern/batch/record"
	"postern/event"
)

// TestItemCodesAreRowsOfTheTable reads the sources: a code is a constant with a row in
// ItemCodes.
func TestItemCodesAreRowsOfTheTable(t *testing.T) {
	known := map[string]string{
		"event.SendMessageFailed": event.SendMessageFailed, "event.SendResultUnknown": event.SendResultUnknown,
		"codeNotOnWhatsApp": codeNotOnWhatsApp, "record.CodeDamaged": record.CodeDamaged, "codeOptedOut": codeOptedOut, "codeDuplicate": codeDuplicate,
	}
	used := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			field, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			key, ok := field.Key.(*ast.Ident)
			if !ok || key.Name != "code" && key.Name != "Code" {
				return true
			}
			switch value := field.Value.(type) {
			case *ast.BasicLit:
				t.Errorf("%s: the code %s is a literal: make it a constant with a row in batch/codes.go", name, value.Value)
			case *ast.Ident:
				used[value.Name] = true
			case *ast.SelectorExpr:
				if x, ok := value.X.(*ast.Ident); ok {
					used[x.Name+"."+value.Sel.Name] = true
				}
			}
			return true
		})
	}
	for name, code := range known {
		if !used[name] {
			t.Errorf("no item gets %s", name)
		}
		if !slices.ContainsFunc(ItemCodes(), func(c ItemCode) bool { return c.Code == code }) {
			t.Errorf("%s has no row in ItemCodes", name)
		}
		delete(used, name)
	}
	for _, c := range ItemCodes() {
		if !slices.Contains(slices.Collect(maps.Values(known)), c.Code) {
			t.Errorf("no item gets %s: use its constant, and add it to this test", c.Code)
		}
	}
	for name := range used {
		if strings.HasPrefix(name, "code") && name != "code" || strings.HasPrefix(name, "event.") || strings.HasPrefix(name, "record.Code") {
			t.Errorf("the code %s has no row in ItemCodes, or none in this test", name)
		}
	}
}
