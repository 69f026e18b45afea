package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// advice is what a warning or an error of the log says to who runs the program, or that
// there is nothing to be done: the program does it.
var advice = regexp.MustCompile(`\b(free some|raise|set|run|mend|remove|delete the|give the|name (your|it)|postern check|report it|unlink|renew|put back|restore a|restart|check the|check both|correct|see to|see that|see the|look (at|after)|have (it|the)|install|let it|log it out|take back|take it back|make(s)? one|looks at ffmpeg|durable|the errors before|last resort)\b|` +
	`\b(trying|tries|asking|asks|goes on|connecting|the next (start|login)|made anew|anew|will be told|more slowly|are not sent|until it expires|comes again|reading more|on request)\b`)

// ofNobody are those that no operator causes and none can repair.
var ofNobody = []string{
	"configuration", // its warning says it
	"message under an unusable key dropped",
}

// TestWarningsAndErrorsSayWhatToDo reads every text that the program logs at these levels but
// those with an error beside them, which says it: that of a full disk does, and that of a store
// that has failed.
func TestWarningsAndErrorsSayWhatToDo(t *testing.T) {
	seen := map[string]bool{}
	inspectSources(t, func(path string, n ast.Node) {
		text := warned(n)
		if text == "" {
			return
		}
		seen[text] = true
		if !advice.MatchString(text) && !slices.Contains(ofNobody, text) {
			t.Errorf("%s: %q says nothing to do", path, text)
		}
	})
	for _, text := range ofNobody {
		if !seen[text] {
			t.Errorf("%q is not logged any more", text)
		}
	}
	if len(seen) < 40 {
		t.Errorf("only %d texts were found", len(seen))
	}
}

// warned returns the text of a call that logs a warning or an error, empty for another node.
func warned(n ast.Node) string {
	call, is := n.(*ast.CallExpr)
	if !is {
		return ""
	}
	method, is := call.Fun.(*ast.SelectorExpr)
	if !is || method.Sel.Name != "Warn" && method.Sel.Name != "Error" || len(call.Args) == 0 {
		return ""
	}
	literal, is := call.Args[0].(*ast.BasicLit)
	if !is || literal.Kind != token.STRING {
		return ""
	}
	failed := false
	for _, arg := range call.Args[1:] {
		ast.Inspect(arg, func(n ast.Node) bool {
			name, is := n.(*ast.BasicLit)
			failed = failed || is && name.Value == `"error"`
			return true
		})
	}
	if failed {
		return ""
	}
	text, _ := strconv.Unquote(literal.Value)
	return text
}
