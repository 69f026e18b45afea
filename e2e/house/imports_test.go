package house

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
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
	"event":                    {},
	"event/witness":            {},
	"internal/nesting":         {},
	"internal/nightly":         {},
	"internal/nearest":         {},
	"internal/plural":          {},
	"internal/sheet":           {"internal/plural"},
	"internal/budget":          {},
	"internal/netfault":        {},
	"internal/peers":           {},
	"whatsapp/proxy":           {"event", "internal/netfault"},
	"whatsapp/proxy/proxytest": {},
	"store/pages":              {"internal/plural"},
	"store/pages/pagestest":    {"store/pages"},
	"store/files":              {},
	"store/clock":              {},
	"store/schema":             {"store/pages"},
	"store/survey":             {"internal/plural", "store/files", "store/pages", "store/schema"},
	"store":                    {"internal/plural", "store/clock", "store/files", "store/pages", "store/schema", "store/survey"},
	"cluster":                  {"store"},
	"cluster/memory":           {"cluster", "store"},
	"cluster/move":             {"cluster", "store", "store/schema"},
	"cluster/postgres":         {"cluster", "store"},
	"cluster/postgres/pgtest":  {},
	"cluster/everycell":        {"cluster", "cluster/postgres", "store", "internal/nightly"},
	"cluster/clustertest":      {"cluster", "store"},
	"whatsapp/device":          {"store", "store/schema", "event"},
	"whatsapp/translate":       {"internal/nesting", "event", "internal/netfault"},
	"whatsapp":                 {"internal/plural", "whatsapp/device", "store", "event", "internal/netfault", "whatsapp/proxy", "whatsapp/translate"},
	"internal/prune":           {},
	"internal/loglevel":        {},
	"internal/loglines":        {},
	"cli/support":              {},
	"console/samples":          {"store", "store/schema"},
	"console/feed":             {},
	"console/trouble":          {"delivery/receivers", "event"},
	"messages":                 {"internal/nesting", "internal/prune", "delivery/publish", "store", "store/schema", "event"},
	"instance":                 {"instance/automatic", "internal/nesting", "internal/prune", "messages", "delivery", "delivery/publish", "store", "store/schema", "event", "whatsapp/proxy", "instance/pace", "instance/traffic", "instance/webhooks"},
	"instance/traffic":         {},
	"instance/automatic":       {"store", "store/schema", "event"},
	"instance/later":           {"batch/schedule", "instance", "instance/pace", "store", "store/schema", "event"},
	"instance/erasure":         {"delivery", "delivery/outbox", "delivery/stream", "messages", "store", "store/schema", "event"},
	"instance/webhooks":        {"delivery", "delivery/publish", "store", "store/schema", "event"},
	"batch":                    {"batch/mailing", "batch/optout", "batch/paging", "batch/record", "batch/schedule", "batch/table", "batch/template", "internal/plural", "internal/prune", "delivery/outbox", "store", "event"},
	"batch/optout":             {"batch/paging", "internal/prune", "store", "store/schema", "event"},
	"batch/paging":             {"store"},
	"batch/record":             {"batch/schedule", "batch/table", "store", "store/schema", "event"},
	"batch/mailing":            {"batch/record", "batch/template", "internal/plural", "event"},
	"batch/schedule":           {"internal/wallclock"},
	"batch/table":              {"batch/schedule", "event"},
	"batch/template":           {},
	"internal/wallclock":       {},
	"instance/pace":            {"internal/plural", "store", "store/schema", "event", "internal/wallclock"},
	"httpapi/standby":          {"cluster", "httpapi/rest", "internal/peers"},
	"httpapi/alerts":           {"internal/prune", "store", "store/schema", "event"},
	"delivery":                 {"delivery/digest", "delivery/layout", "delivery/outbox", "store", "store/schema", "event"},
	"delivery/digest":          {"store"},
	"delivery/layout":          {},
	"delivery/logbook":         {"delivery", "delivery/digest", "delivery/layout", "internal/prune", "store", "store/schema", "event"},
	"delivery/publish":         {"delivery", "delivery/stream", "store", "event"},
	"delivery/receivers":       {"delivery", "delivery/outbox", "store", "store/schema", "event"},
	"delivery/pull":            {"delivery", "delivery/layout", "delivery/outbox", "delivery/stream", "store", "store/schema", "event"},
	"delivery/stream":          {"delivery/layout", "store", "store/schema", "event"},
	"delivery/outbox":          {"delivery/stream", "store", "store/schema", "event"},
	"dispatch":                 {"internal/prune", "delivery", "delivery/logbook", "delivery/outbox", "store", "event", "internal/netfault"},
	"media":                    {"internal/prune", "store", "store/schema", "store/files", "event", "internal/netfault"},
	"media/link":               {"event", "store", "store/schema"},
	"media/display":            {"event", "media"},
	"media/kept":               {"event", "internal/prune", "media/cache", "media/display", "media/kept/s3", "store", "store/schema", "store/files"},
	"media/kept/s3":            {"internal/netfault"},
	"media/cache":              {"event", "media/display"},
	"wsbus":                    {"event"},

	"sandbox":                   {"sandbox/network", "sandbox/network/mediahost", "sandbox/network/posts", "sandbox/phone", "sandbox/handset", "store/schema", "internal/nesting"},
	"sandbox/network":           {"sandbox/network/wire", "sandbox/network/appstate", "sandbox/network/mediahost", "sandbox/network/posts", "sandbox/phone", "sandbox/handset", "store", "store/schema", "internal/peers"},
	"sandbox/network/wire":      {},
	"sandbox/network/appstate":  {"store"},
	"sandbox/network/mediahost": {},
	"sandbox/network/posts":     {"sandbox/network/wire", "store"},
	"sandbox/phone":             {"internal/plural", "sandbox/handset"},
	"sandbox/handset":           {},

	"access":                    {"internal/budget", "internal/prune", "store", "store/schema", "event"},
	"httpapi":                   {"access", "backup", "batch", "batch/mailing", "batch/record", "console/samples", "console/trouble", "delivery", "delivery/logbook", "delivery/pull", "delivery/receivers", "delivery/outbox", "dispatch", "event", "httpapi/alerts", "httpapi/batches", "httpapi/chats", "httpapi/deliveries", "httpapi/files", "httpapi/idempotency", "httpapi/instances", "httpapi/openapi", "httpapi/operator", "httpapi/ref", "httpapi/rest", "httpapi/sends", "httpapi/sockets", "httpapi/strict", "instance", "instance/pace", "instance/webhooks", "internal/loglevel", "internal/loglines", "internal/nesting", "internal/peers", "internal/sheet", "media", "messages", "store", "whatsapp/proxy", "cluster", "httpapi/standby", "batch/optout", "instance/erasure", "instance/later", "media/cache", "media/link", "media/kept"},
	"httpapi/operator":          {"access", "backup", "batch", "console/samples", "console/trouble", "event", "httpapi/openapi", "httpapi/rest", "httpapi/tokens", "instance", "instance/later", "internal/loglevel", "internal/loglines", "internal/peers", "store", "cluster"},
	"httpapi/sockets":           {"access", "console/feed", "event", "httpapi/rest", "httpapi/tokens", "instance", "internal/peers"},
	"httpapi/batches":           {"access", "batch", "batch/mailing", "batch/record", "dispatch", "event", "httpapi/openapi", "httpapi/ref", "httpapi/rest", "httpapi/strict", "instance", "internal/plural", "internal/sheet", "media", "messages", "store", "batch/optout", "batch/paging"},
	"httpapi/deliveries":        {"internal/nearest", "batch", "delivery", "delivery/logbook", "delivery/pull", "delivery/receivers", "delivery/outbox", "dispatch", "event", "httpapi/openapi", "httpapi/rest", "httpapi/strict", "instance/webhooks", "store"},
	"httpapi/sends":             {"batch", "event", "httpapi/alerts", "httpapi/openapi", "httpapi/ref", "httpapi/rest", "httpapi/strict", "instance", "instance/later", "media", "messages", "store", "media/display"},
	"httpapi/files":             {"event", "httpapi/openapi", "httpapi/rest", "instance", "media/cache", "media/display", "media/link", "messages", "store", "media/kept", "batch"},
	"httpapi/chats":             {"event", "httpapi/openapi", "httpapi/ref", "httpapi/rest", "httpapi/strict", "instance", "instance/erasure", "media", "messages"},
	"httpapi/instances":         {"internal/nearest", "access", "backup", "batch", "console/trouble", "event", "httpapi/openapi", "httpapi/rest", "httpapi/strict", "httpapi/tokens", "instance", "instance/pace", "instance/webhooks", "internal/plural", "media", "store", "whatsapp/proxy"},
	"httpapi/ref":               {"event", "httpapi/rest", "media", "messages"},
	"httpapi/rest":              {"internal/nearest", "access", "event", "httpapi/idempotency", "httpapi/openapi", "httpapi/strict", "httpapi/tokens", "internal/nesting", "internal/peers", "store"},
	"httpapi/openapi":           {"event"},
	"httpapi/openapi/witness":   {},
	"httpapi/strict":            {"internal/nearest", "internal/nesting", "event"},
	"httpapi/idempotency":       {"internal/prune", "store", "store/schema"},
	"httpapi/tokens":            {"httpapi/strict"},
	"httpapi/tokens/tokenstest": {},

	"mcp": {"internal/plural", "internal/budget", "internal/nesting"},

	"console/page":  {},
	"e2e/powerloss": {},

	"whatsapp/clientversion": {"whatsapp", "store", "store/schema"},

	"packaging/dist": {},

	"migrate":             {"internal/plural", "migrate/table", "migrate/sqlite", "migrate/dump", "migrate/postgresql", "instance", "instance/webhooks", "messages", "whatsapp/device", "event"},
	"migrate/table":       {},
	"migrate/sqlite":      {"internal/plural", "migrate/table"},
	"migrate/dump":        {"internal/plural", "migrate/table"},
	"migrate/postgresql":  {"cluster/postgres", "migrate/table"},
	"migrate/migratetest": {},

	"backup":          {"store", "store/files", "event"},
	"backup/transfer": {"backup", "instance", "messages", "whatsapp/device", "event"},

	"app/accounts":                    {"backup/transfer", "event", "httpapi/instances", "httpapi/tokens", "instance", "media", "messages", "store", "whatsapp/device"},
	"app/certificate":                 {"config", "dispatch", "store/files"},
	"app/certificate/certificatetest": {},
	"app/fleet":                       {"batch", "event", "instance", "instance/pace", "internal/plural", "messages", "whatsapp/device"},
	"app/heap":                        {},
	"app/hub":                         {"console/feed", "delivery", "delivery/outbox", "httpapi/rest", "httpapi/sockets", "store", "wsbus"},
	"app/unixsocket":                  {"config"},
	"app/upstream":                    {"config", "dispatch", "event", "instance", "sandbox", "store/schema", "whatsapp", "whatsapp/device", "whatsapp/proxy"},

	"config":       {"internal/nearest", "internal/plural", "backup", "whatsapp/clientversion", "store/files", "event", "internal/peers", "whatsapp/proxy", "whatsapp"},
	"app":          {"access", "app/accounts", "app/certificate", "app/fleet", "app/hub", "app/unixsocket", "app/upstream", "backup", "backup/transfer", "batch", "batch/record", "batch/optout", "config", "console/feed", "console/page", "console/samples", "console/trouble", "delivery", "delivery/logbook", "delivery/pull", "delivery/receivers", "delivery/outbox", "dispatch", "event", "httpapi", "httpapi/alerts", "httpapi/idempotency", "httpapi/instances", "httpapi/operator", "httpapi/rest", "instance", "instance/pace", "instance/webhooks", "internal/loglevel", "internal/loglines", "internal/peers", "mcp", "media", "messages", "migrate", "sandbox", "store", "store/schema", "whatsapp", "whatsapp/clientversion", "whatsapp/device", "whatsapp/proxy", "wsbus", "cluster", "cluster/postgres", "httpapi/standby", "cluster/move", "store/files", "instance/erasure", "instance/later", "media/cache", "media/display", "media/link", "media/kept", "media/kept/s3"},
	"cli/doctor":   {"internal/plural", "app", "app/upstream", "backup", "cluster", "cluster/postgres", "config", "dispatch", "instance", "instance/webhooks", "media", "internal/netfault", "internal/peers", "media/kept", "media/kept/s3", "store", "store/schema", "store/files"},
	"cli/consumer": {},
	"cli":          {"internal/nearest", "internal/plural", "mcp", "backup", "cli/doctor", "backup/transfer", "migrate", "internal/loglevel", "internal/loglines", "cli/support", "cli/consumer", "app", "app/certificate", "app/heap", "config", "httpapi/tokens", "sandbox", "sandbox/handset", "store", "store/schema", "store/files", "event", "internal/peers", "cluster", "cluster/move", "cluster/postgres"},
	"":             {"cli"},
	// Tests of the whole program may see all of it.
	"e2e/accounts": {"*"}, "e2e/backup": {"*"}, "e2e/baileys": {"*"}, "e2e/bare": {},
	"e2e/bench": {"*"}, "e2e/browser": {}, "e2e/capture": {}, "e2e/cluster": {"*"}, "e2e/cluster/controls": {"internal/nightly"}, "e2e/crash": {"*"}, "e2e/delivery": {"*"}, "e2e/diagnosis": {"*"}, "e2e/docs": {"*"}, "e2e/events": {"*"}, "e2e/faults": {"*"}, "e2e/fleetsim": {},
	"e2e/agents": {"*"}, "e2e/s3": {"*"}, "e2e/s3/server": {}, "e2e/house": {}, "e2e/mistakes": {"*"}, "e2e/packages": {}, "e2e/upgrades": {"*"}, "e2e/moving": {"*"}, "e2e/proxies": {"*"}, "e2e/rig": {"*"}, "e2e/sends": {"*"}, "e2e/settings": {"*"},
}

// why is printed when an edge is not in the table.
var why = map[string]string{
	"":                       "main hands over to the commands",
	"access":                 "it knows what a key is for and who changed what; what is done with that, it does not know",
	"app":                    "app wires the parts; it must not know by which command it was started",
	"app/certificate":        "it reads, gets and keeps certificates; which listener serves them, it does not know",
	"app/accounts":           "it moves accounts between files; who asks for it, it does not know",
	"app/fleet":              "it shows instances to batches and decides for one message; what a batch is, is decided in batch",
	"app/hub":                "it fits the hub to the API and to what is stored; what it serves, it does not read",
	"app/heap":               "it sizes the heap, whatever is in it",
	"app/upstream":           "it finds the server and the way to it; who connects, and when, it does not know",
	"app/unixsocket":         "it opens sockets and replaces stale ones; what is served there, it does not know",
	"cli":                    "commands are users of the program and of its interface; what they need of the parts comes by way of app",
	"cli/doctor":             "it finds problems; it does not know how they are printed",
	"config":                 "what can be set is known before anything runs",
	"event":                  "event is the vocabulary that all share; it must not know who speaks it",
	"internal/peers":         "peers knows addresses and connections, whatever is served to them",
	"whatsapp/translate":     "it translates events and messages and knows no session",
	"whatsapp/proxy":         "it dials proxies and knows no user of the connection",
	"internal/budget":        "budget counts, whatever is counted",
	"internal/nesting":       "nesting bounds input for any reader",
	"internal/plural":        "plural writes numbers with their noun for any output",
	"internal/netfault":      "netfault words network errors for any caller",
	"store":                  "store keeps bytes; the owner of a bucket knows what they mean",
	"cluster/move":           "it moves records of a file, whatever they mean and whoever asks",
	"store/files":            "it asks the operating system about files; what is in them, it does not know",
	"cluster/postgres":       "it holds cells; who owns one, and what its records mean, is decided above it",
	"cluster/clustertest":    "it holds an interface against its rules, whatever is behind it",
	"whatsapp":               "the connector reports facts; packages above decide what follows",
	"sandbox":                "the sandbox stands in for WhatsApp; it must not know the program it is talked to by",
	"instance":               "instances hand notices to an interface; who delivers them is wired in app/parts.go",
	"messages":               "messages are stored for an instance that its caller knows; what the settings of the instance say of them is decided above",
	"whatsapp/clientversion": "it knows versions and when to ask for one; refusals are reported to it, and it reports new versions",
	"batch":                  "batches send through an interface and emit to the outbox; they do not know that webhooks exist",
	"batch/optout":           "it knows people, words and who was written to; what a batch sends, it does not know",
	"batch/record":           "it reads and writes records; what follows for a batch is decided in batch and batch/table",
	"batch/mailing":          "it knows texts, files and recipients; when and by which instance they leave, it does not know",
	"batch/paging":           "it knows keys, cursors and bounds; what is listed, it does not know",
	"batch/template":         "it knows texts; who gets them, it does not know",
	"batch/schedule":         "it knows windows and the clock; what is sent in them, it does not know",
	"batch/table":            "it decides by status and counts; who asks, and what is stored of it, it does not know",
	"delivery/outbox":        "it keeps batch events and their numbers; who delivers them is above it",
	"dispatch":               "dispatch moves bytes; it does not know what a batch or an instance is",
	"instance/webhooks":      "it knows where events go; what they tell of, and how they get there, it does not know",
	"instance/automatic":     "what the settings ask for is done with a session and the file; who keeps the connection, it does not know",
	"instance/traffic":       "it counts; of what, it does not know",
	"instance/later":         "it knows when a message is due; who asked for it, and where its file came from, it does not know",
	"delivery/receivers":     "it knows how destinations answer, not what events tell of",
	"instance/erasure":       "it removes what others have stored; why, and who asked for it, it does not know",
	"instance/pace":          "pace counts what leaves and says when more may; who asks, and for what, it does not know",
	"httpapi/alerts":         "notify makes texts of alerts and remembers them; who sends them, it does not know",
	"internal/wallclock":     "wallclock knows zones, and nothing that happens in them",
	"internal/loglines":      "a line is one, whatever it says",
	"console/feed":           "it hands on rows and names, whatever they are of",
	"console/trouble":        "it groups what is wrong; how it is found out, the program tells it",
	"cli/support":            "it hides what is no stranger's business, wherever that comes from",
	"internal/loglevel":      "a level is one, whatever is logged",
	"internal/prune":         "prune knows when to look, and nothing of what is looked at",
	"media/kept/s3":          "it puts and gets objects; which of them there should be, it does not know",
	"media":                  "media finds and prepares files; who encrypts and sends them is above it",
	"wsbus":                  "the hub moves bytes to WebSockets and needs no file",
	"e2e/powerloss":          "the recorder sees system calls only, so that no package can tell it a kinder story",
	"console/page":           "the page is a client of the HTTP interface like any other",
	"mcp":                    "it is a client of the HTTP interface; what a key may do is decided there",
	"httpapi":                "the API never talks to WhatsApp itself; it asks instance and batch",

	"migrate":             "it reads what another program left and makes what ours keeps; who stores it, it does not know",
	"migrate/table":       "rows are rows, whatever they are of and wherever they go",
	"migrate/sqlite":      "pages are read, whatever the tables in them are of",
	"migrate/dump":        "a text is read, whatever its tables are of",
	"migrate/postgresql":  "rows are read, whatever the tables are of; passwords in its URL are hidden as those of a cell's database",
	"migrate/migratetest": "other programs' databases know nothing of who reads them",

	"packaging/dist": "what packs the program needs nothing of it but its commands",

	"sandbox/network":           "the network acts like WhatsApp; it must not know acts and routes",
	"sandbox/network/wire":      "the wire carries stanzas and does not interpret them",
	"sandbox/network/appstate":  "a collection counts its patches; its caller names the devices",
	"sandbox/network/mediahost": "the host has files without their keys and owners",
	"sandbox/network/posts":     "a board has posts and judges them; who may post, and who gets them, is the network's",
	"sandbox/phone":             "a phone has no connection; it passes its stanzas to an interface",
	"sandbox/handset":           "a handset encrypts and decrypts, and sends nothing",

	"httpapi/ref":         "a reference is one, in whatever body it stands",
	"httpapi/operator":    "keys, sessions, backups and settings are of the program; which other resources there are, it does not know",
	"httpapi/sockets":     "it opens WebSockets; who may hear what about a batch, it asks an interface",
	"httpapi/batches":     "a batch is created and steered; who delivers its events, it does not know",
	"httpapi/deliveries":  "what was delivered, and what waits; no other resource",
	"httpapi/files":       "files leave by their address; who sends and lists messages is beside it",
	"httpapi/sends":       "one message leaves, with its file; no other resource",
	"httpapi/chats":       "chats, groups, labels and newsletters of an account; no other resource",
	"httpapi/instances":   "instances, their connection, webhook and settings; no other resource",
	"httpapi/rest":        "it processes requests, whatever they ask for: it knows no instance, no batch and no delivery",
	"httpapi/openapi":     "the document is made of tables that it is given; it knows no route and no resource",
	"httpapi/idempotency": "a key guards a request, whatever it asks for and however it is answered",
	"httpapi/tokens":      "a token says whom it speaks for; whether they exist is looked up above it",
	"httpapi/strict":      "JSON is read by the tags of a struct, whatever the struct is about",
}

// reasonOf is why of the package, or of the one around it.
func reasonOf(pkg string) string {
	for own := pkg; ; own = path.Dir(own) {
		if text, known := why[own]; known || own == "." {
			return text
		}
	}
}

// reserved libraries and the packages that may use them, with the reason.
var reserved = map[string]struct {
	users  []string
	reason string
}{
	"go.etcd.io/bbolt":                    {[]string{"store"}, "everything else reaches the file through store.Tx, which can be replaced"},
	"go.mau.fi/whatsmeow":                 {[]string{"whatsapp", "whatsapp/device", "whatsapp/translate", "sandbox", "sandbox/network", "sandbox/network/wire", "sandbox/network/appstate", "sandbox/network/mediahost", "sandbox/network/posts", "sandbox/phone", "sandbox/handset", "e2e/bare"}, "the protocol has two ends; nothing else may depend on its types"},
	"go.mau.fi/libsignal":                 {[]string{"whatsapp", "whatsapp/device", "sandbox/network", "sandbox/handset"}, "only the two ends of the protocol encrypt, and the key store moves sessions past a crash"},
	"github.com/jackc/pgx":                {[]string{"cluster/postgres", "migrate/postgresql"}, "cells reach PostgreSQL by way of cluster.Database, and imports by way of table.Source; its lower half alone is linked"},
	"nhooyr.io/websocket":                 {[]string{"wsbus"}, "the hub alone speaks WebSocket to consumers"},
	"github.com/coder/websocket":          {[]string{"sandbox/network", "sandbox/network/wire"}, "the sandbox's side of the protocol; consumers are served by the hub"},
	"github.com/golang-jwt/jwt/v5":        {[]string{"httpapi/tokens", "httpapi/tokens/tokenstest"}, "tokens are made and checked in one place"},
	"github.com/julienschmidt/httprouter": {[]string{"httpapi/rest"}, "there is one router"},
	"github.com/go-json-experiment/json":  {[]string{"httpapi/strict", "event/witness"}, "what a body may be is decided in one place, and held against in another by tests"},
	"github.com/BurntSushi/toml":          {[]string{"config"}, "the configuration is read in one place; packages get typed values"},
	"github.com/spf13/cobra":              {[]string{"cli"}, "what is typed is read in one place; everything else gets typed values"},
	"github.com/spf13/pflag":              {[]string{"cli"}, "what is typed is read in one place; everything else gets typed values"},
	"github.com/modelcontextprotocol":     {[]string{"mcp"}, "agent programs are spoken to in one place"},
	"github.com/google/jsonschema-go":     {[]string{"mcp"}, "it comes with the protocol of agent programs; our own schemas are of event and httpapi/openapi"},
	"github.com/minio/minio-go":           {[]string{"media/kept/s3"}, "S3 is spoken in one place"},
	"html/template":                       {nil, "it calls methods by name, and then the linker drops none: 4 MB more"},
	"text/template":                       {nil, "it calls methods by name, and then the linker drops none: 4 MB more"},

	"github.com/standard-webhooks/standard-webhooks/libraries": {nil, "signatures are held against it in tests, which therefore have another author than they"},

	"modernc.org/sqlite":            {nil, "files of SQLite are read by migrate/sqlite, which is held against SQLite itself in tests; the program would be 4 MB larger by it"},
	"golang.org/x/crypto/x509roots": {[]string{"packaging/dist"}, "the program trusts whom its machine trusts; an image brings its own"},

	"github.com/mattn/go-sqlite3": {nil, "it needs a C compiler; benchmarks hold sends against it"},

	"github.com/chromedp": {[]string{"e2e/browser"}, "the browser of tests is driven in one place"},

	"github.com/santhosh-tekuri/jsonschema/v6": {[]string{"event/witness", "httpapi/openapi/witness"}, "schemas are checked in tests; the program would be larger by it"},
}

// root is the top folder of the project.
var root = filepath.Join("..", "..")

func TestImportsFollowTheTable(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := strings.TrimPrefix(filepath.ToSlash(folder), ".")
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

func checkImports(t *testing.T, file, pkg string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Error(err)
		return
	}
	allowed, known := mayImport[pkg]
	if !known {
		t.Errorf("%s: package %q is not in the import table; decide what it may see", file, pkg)
		return
	}
	test := strings.HasSuffix(file, "_test.go")
	for _, spec := range f.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if ours, ok := strings.CutPrefix(imported, "postern/"); ok && !test && ours != pkg &&
			!slices.Contains(allowed, "*") && !slices.Contains(allowed, ours) {
			t.Errorf("%s imports %s: %s", file, imported, reasonOf(pkg))
		}
		for library, r := range reserved {
			if (imported == library || strings.HasPrefix(imported, library+"/")) && !test && !slices.Contains(r.users, pkg) {
				t.Errorf("%s imports %s: %s", file, imported, r.reason)
			}
		}
	}
}
