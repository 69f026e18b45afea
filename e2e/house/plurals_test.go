package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// counted is a number with a noun in the plural. Behind "at most" and the like stands a
// rule, whose number is seldom 1.
var (
	counted = regexp.MustCompile(`%d (instances|accounts|devices|batches|messages|people|deliveries|events|items|records|keys|phones|members|values|columns|` +
		`pages|files|entries|sockets|faults|minutes|hours|days|seconds|times|rows|uploads|contacts|recipients|more keys|webhooks|backups|tokens|lines|different bytes)\b`)
	ruled = regexp.MustCompile(`( to| most| than| the| last| and) %d [a-z]+$`)
)

// manyAtLeast are texts whose number is never 1.
var manyAtLeast = []string{
	"the account has %d devices; name one of", // names.go: of several
	"which has %d devices in the store",       // plan.go: of several
	"%d devices are linked already",           // a constant
	"has %d members already",                  // a constant
	"the collection holds %d records already", // a constant
	"systemd passed %d sockets",               // one is right
	"%d of %d phones decrypted the text",      // the second counts the phones
	"%s and %d more",                          // no noun
}

// TestNumbersFitTheirNouns has no text say "1 instances": such numbers are written by plural.
func TestNumbersFitTheirNouns(t *testing.T) {
	inspectSources(t, func(path string, n ast.Node) {
		literal, is := n.(*ast.BasicLit)
		if !is || literal.Kind != token.STRING {
			return
		}
		text, _ := strconv.Unquote(literal.Value)
		for _, at := range counted.FindAllStringIndex(text, -1) {
			if !ruled.MatchString(" "+text[:at[1]]) && !known(text) {
				t.Errorf("%s: %q may be said of 1; write it with plural.Of", path, text)
			}
		}
	})
}

func known(text string) bool {
	for _, many := range manyAtLeast {
		if strings.Contains(text, many) {
			return true
		}
	}
	return false
}
