package main

import "strings"

// feature is a part of the program that a reader of the documentation knows, with the
// packages that it alone needs.
type feature struct {
	name     string
	packages []string // paths, with everything below them
}

// features are looked up by the longest path that matches. Without one, a package is its
// module's.
var features = []feature{
	{"Go: runtime and library", []string{""}},
	{"Go: net/http and TLS", []string{"net", "crypto", "vendor/golang.org/x", "golang.org/x/net", "encoding/asn1", "encoding/pem"}},
	{"WhatsApp: client library", []string{
		"go.mau.fi", "google.golang.org/protobuf", "github.com/coder/websocket", "github.com/rs/zerolog", "filippo.io/edwards25519",
		"github.com/beeper", "github.com/elliotchance", "github.com/vektah", "golang.org/x/crypto", "golang.org/x/exp",
	}},
	{"WhatsApp: connector, key store, proxies", []string{"postern/whatsapp"}},
	{"instances: messages, chats, supervisor, limits", []string{"postern/instance", "postern/messages"}},
	{"API: routes, handlers, documents", []string{"postern/httpapi", "github.com/julienschmidt", "github.com/go-json-experiment", "github.com/golang-jwt"}},
	{"keys, sessions, audit log", []string{"postern/access", "golang.org/x/time"}},
	{"batches", []string{"postern/batch"}},
	{"events, deliveries, WebSockets", []string{"postern/event", "postern/delivery", "postern/dispatch", "postern/wsbus", "nhooyr.io", "github.com/dchest"}},
	{"data file", []string{"postern/store", "go.etcd.io"}},
	{"media", []string{"postern/media", "golang.org/x/image", "image"}},
	{"S3", []string{
		"postern/media/kept/s3", "github.com/minio", "github.com/tinylib", "github.com/philhofer", "github.com/klauspost", "github.com/zeebo", "github.com/rs/xid", "gopkg.in/ini.v1", "go.yaml.in", "github.com/dustin",
	}},
	{"sandbox", []string{"postern/sandbox"}},
	{"agent programs (MCP)", []string{
		"postern/mcp", "github.com/modelcontextprotocol", "github.com/google/jsonschema-go", "github.com/segmentio", "github.com/yosida95",
		"golang.org/x/oauth2", "encoding/gob",
	}},
	{"console", []string{"postern/console", "rsc.io/qr"}},
	{"backup, moving, import", []string{"postern/backup", "postern/migrate", "filippo.io/age", "filippo.io/hpke", "archive/tar"}},
	{"metrics", []string{"github.com/prometheus", "github.com/beorn7", "github.com/cespare", "github.com/munnerz", "expvar"}},
	{"certificates (ACME)", []string{"golang.org/x/crypto/acme"}},
	{"commands, help, configuration", []string{
		"postern/cli", "postern/config", "github.com/spf13", "github.com/BurntSushi", "text/template", "main", "golang.org/x/term", "github.com/inconshreveable",
	}},
	{"wiring and small packages", []string{"postern/app", "postern/internal", "github.com/coreos", "github.com/google/uuid", "golang.org/x/sys"}},
}

// featureOf returns the feature of a package.
func featureOf(pkg string) string {
	best, length := "", -1
	for _, f := range features {
		for _, path := range f.packages {
			if len(path) > length && (path == "" || pkg == path || strings.HasPrefix(pkg, path+"/")) {
				best, length = f.name, len(path)
			}
		}
	}
	return best
}
