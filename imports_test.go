package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The import table: which of our packages a package may import, and which
// outside libraries are reserved for a few packages. Code flows down only, so
// that each package can be read, tested and replaced without those above it.

// mayImport lists, for every package of the module, the others it may see.
var mayImport = map[string][]string{
	"event":                   {},
	"nesting":                 {},
	"netfault":                {},
	"peers":                   {},
	"store/pages":             {},
	"store":                   {"store/pages", "event"},
	"whatsapp/device":         {"store"},
	"whatsapp":                {"whatsapp/device", "store", "event", "netfault"},
	"sandbox/handset":         {},
	"sandbox":                 {"sandbox/handset", "store", "nesting", "peers"},
	"prune":                   {},
	"instance":                {"prune", "store", "event"},
	"batch":                   {"prune", "store", "event"},
	"dispatch":                {"prune", "store", "event", "netfault"},
	"media":                   {"prune", "store", "event", "netfault"},
	"wsbus":                   {"event"},
	"httpapi":                 {"httpapi/openapi", "prune", "batch", "instance", "dispatch", "media", "wsbus", "store", "event", "nesting", "peers"},
	"httpapi/openapi":         {"event"},
	"httpapi/openapi/witness": {},
	"dashboard":               {},
	"powerloss":               {},
	"":                        {"*"}, // main wires everything
}

// why is printed when an edge is not in the table.
var why = map[string]string{
	"event":     "event is the vocabulary that all share; it must not know who speaks it",
	"peers":     "peers knows addresses and connections, whatever is served to them",
	"nesting":   "nesting bounds what comes in, whoever reads it",
	"netfault":  "netfault puts errors into words, whoever made the call",
	"store":     "store keeps bytes; whoever owns a bucket knows what they mean",
	"whatsapp":  "the connector tells facts; what becomes of them is decided above it",
	"sandbox":   "the sandbox stands in for WhatsApp; it must not know the program it is talked to by",
	"instance":  "instances hand notices to an interface; who delivers them is wired in app.go",
	"batch":     "batches send through an interface and emit to the outbox; they do not know that webhooks exist",
	"dispatch":  "dispatch moves bytes; it does not know what a batch or an instance is",
	"prune":     "prune knows when to look, and nothing of what is looked at",
	"media":     "media finds and prepares files; who encrypts and sends them is above it",
	"wsbus":     "the hub moves bytes to WebSockets and needs no file",
	"powerloss": "the recorder sees system calls only, so that no package can tell it a kinder story",
	"dashboard": "the page is a client of the HTTP interface like any other",
	"httpapi":   "the API never talks to WhatsApp itself; it asks instance and batch",
}

// reserved libraries and the packages that may use them, with the reason.
var reserved = map[string]struct {
	users  []string
	reason string
}{
	"go.etcd.io/bbolt":                    {[]string{"store"}, "everything else reaches the file through store.Tx, which can be replaced"},
	"go.mau.fi/whatsmeow":                 {[]string{"whatsapp", "whatsapp/device", "sandbox", "sandbox/handset"}, "the protocol has two ends; nothing else may depend on its types"},
	"go.mau.fi/libsignal":                 {[]string{"whatsapp", "whatsapp/device", "sandbox", "sandbox/handset"}, "only the two ends of the protocol encrypt, and the key store moves sessions past a crash"},
	"nhooyr.io/websocket":                 {[]string{"wsbus"}, "the hub alone speaks WebSocket to consumers"},
	"github.com/coder/websocket":          {[]string{"sandbox"}, "the sandbox's side of the protocol; consumers are served by the hub"},
	"github.com/golang-jwt/jwt/v5":        {[]string{"httpapi"}, "tokens are made and checked in one place"},
	"github.com/julienschmidt/httprouter": {[]string{"httpapi"}, "there is one route table"},
	"github.com/BurntSushi/toml":          {[]string{""}, "only main reads the configuration; packages get typed values"},
}

func TestImportsFollowTheTable(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		pkg := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), ".")
		seen[pkg] = true
		checkImports(t, path, pkg)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range mayImport {
		if !seen[pkg] {
			t.Errorf("the table names package %q, which does not exist", pkg)
		}
	}
}

func checkImports(t *testing.T, path, pkg string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Error(err)
		return
	}
	allowed, known := mayImport[pkg]
	if !known {
		t.Errorf("%s: package %q is not in the import table; decide what it may see", path, pkg)
		return
	}
	test := strings.HasSuffix(path, "_test.go")
	for _, spec := range f.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if ours, ok := strings.CutPrefix(imported, "postern/"); ok && !test && ours != pkg &&
			!slices.Contains(allowed, "*") && !slices.Contains(allowed, ours) {
			t.Errorf("%s imports %s: %s", path, imported, why[strings.SplitN(pkg, "/", 2)[0]])
		}
		for library, r := range reserved {
			if (imported == library || strings.HasPrefix(imported, library+"/")) && !test && !slices.Contains(r.users, pkg) {
				t.Errorf("%s imports %s: %s", path, imported, r.reason)
			}
		}
	}
}
