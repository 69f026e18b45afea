// Package operator has the routes of the program itself: scoped keys, sessions, the audit
// log, backups, settings, logs, profiles, samples, and whether the program is ready.
//
// [API.Routes] are the rows: method, path, credential, rights, handler, and the words for
// the documents. No resource imports another: a call that one needs of another is a
// function or an interface in [Config].
package operator

import (
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"sync"
	"time"

	"postern/backup"
	"postern/batch"
	"postern/console/samples"
	"postern/httpapi/rest"
	"postern/instance"
	"postern/internal/loglevel"
	"postern/internal/loglines"
	"postern/internal/peers"
	"postern/store"
)

// Config is what the handlers need. All fields are required but those that say
// otherwise.
type Config struct {
	Access     rest.Access
	AgentTools []string // names of what agents may call, for POST /session/calls
	JWTSecret  []byte   // HS256, of user tokens
	Registry   *instance.Registry
	Engine     *batch.Engine
	Store      *store.Store
	Hub        keyHub // nil: there are no WebSockets

	// Backup makes an archive of the program's data; release is to be called when it
	// was written.
	Backup func(ctx context.Context, withoutSecrets bool) (a *backup.Archive, release func() error, err error)
	// Backups returns the state of the scheduled backups. nil: it makes none.
	Backups func() backup.State
	// Ready returns why the program is not ready, nothing when it is. nil:
	// always ready.
	Ready func() []string
	// Warnings are what an operator should look at though the program works, besides
	// those of the store. nil: none.
	Warnings func() []string
	// Settings is the configuration in force, without secrets. nil: GET /admin/config
	// answers with no setting.
	Settings func() SettingList
	// Support writes a redacted support bundle as a zip file; its error is ErrNoSupport
	// when that is not possible. nil: it is not.
	Support func(ctx context.Context, to io.Writer) error
	// Samples are what GET /admin/samples shows. nil: there are none.
	Samples *samples.Recorder
	// LogLevel is that of the program's log.
	LogLevel *loglevel.Level
	// LogLines are the last lines of the log.
	LogLines *loglines.Ring
	// Metrics answers GET /metrics: of the instances that opens reports, and nothing else;
	// with a nil opens, of the whole program. nil: that path answers 404.
	Metrics func(opens func(instance int64) bool) http.Handler
}

// keyHub ends WebSockets.
type keyHub interface {
	// Revoke closes the clients whose token or holder this is, within a second.
	Revoke(token [sha256.Size]byte)
	// Renew has the clients with this token end at another time; zero: never.
	Renew(token [sha256.Size]byte, expires time.Time)
}

// API has the handlers of the package.
type API struct {
	Config

	SignIns *peers.Failures // sessions that an address begins

	Profiling sync.Mutex // held while a profile is made
	gathering sync.Mutex // held while a support bundle is made
}

// New returns the handlers, which need c.
func New(c Config) *API {
	return &API{Config: c, SignIns: peers.NewFailures(signInsPerMinute)}
}
