// Package operator has the routes of the program itself: scoped keys, sessions, the audit log,
// backups, settings, logs, profiles, samples, and readiness.
//
// [API.Routes] returns the rows: method, path, credential, rights, handler, and the texts for the
// documents. No resource imports another: if one needs a call of another, it declares a function or an
// interface in [Config].
package operator

import (
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"postern/access"
	"postern/backup"
	"postern/batch"
	"postern/cluster"
	"postern/console/samples"
	"postern/console/trouble"
	"postern/httpapi/rest"
	"postern/instance"
	"postern/instance/later"
	"postern/internal/loglevel"
	"postern/internal/loglines"
	"postern/internal/peers"
	"postern/store"
)

// Config configures the handlers. All fields are required unless they say otherwise.
type Config struct {
	Program
	Access    rest.Access
	JWTSecret []byte // HS256, of user tokens
	Registry  *instance.Registry
	Engine    *batch.Engine
	Scheduled *later.Scheduler
	Store     *store.Store
	Hub       keyHub // nil: there are no WebSockets
	// MaySee reports whether a key is for an instance of a batch of its user.
	MaySee func(k *access.Key, batch uuid.UUID) bool
}

// Program is what the handlers ask the program that they are part of. All fields are required unless they say otherwise.
type Program struct {
	// Backup makes an archive of the program's data; release must be called after it was written.
	Backup func(ctx context.Context, withoutSecrets bool) (a *backup.Archive, release func() error, err error)
	// Backups returns the state of the scheduled backups. nil: there are none.
	Backups func() backup.State
	// Ready returns why the program is not ready, nothing if it is. nil: always ready.
	Ready func() []string
	// Role is what this process is in its cell; empty: its file stands alone.
	Role string
	// Troubles knows what is wrong.
	Troubles *trouble.Watch
	// Cluster returns the state of the cell. nil: the file stands alone.
	Cluster func(context.Context) cluster.CellStatus
	// Warnings returns faults to report to an operator although the program works, besides those of the
	// store. nil: none.
	Warnings func() []string
	// Settings returns the configuration in force, without secrets. nil: GET /admin/config answers
	// without settings.
	Settings func() SettingList
	// Support writes a redacted support bundle as a zip file; if that is not possible, its error is
	// ErrNoSupport. nil: it is not possible.
	Support func(ctx context.Context, to io.Writer) error
	// Samples returns the samples of GET /admin/samples. nil: there are none.
	Samples *samples.Recorder
	// KeptFiles returns what each instance keeps of files. nil: nothing is kept.
	KeptFiles func() ([]KeptFiles, error)
	// LogLevel is the level of the program's log.
	LogLevel *loglevel.Level
	// LogLines returns the last lines of the log.
	LogLines *loglines.Ring
	// Metrics answers GET /metrics: with a non-nil opens, only for the instances that it reports; with a
	// nil opens, for the whole program. nil: that path answers 404.
	Metrics func(opens func(instance int64) bool) http.Handler
	// AgentTools are the names of the tools that agents may call, for POST /session/calls.
	AgentTools []string
}

// keyHub closes WebSockets.
type keyHub interface {
	// Revoke closes the clients with this token or holder, within a second.
	Revoke(token [sha256.Size]byte)
	// Renew changes when the clients with this token end; zero: never.
	Renew(token [sha256.Size]byte, expires time.Time)
}

// API has the handlers of the package.
type API struct {
	Config

	SignIns *peers.Failures // sessions that an address begins

	Profiling sync.Mutex // held while a profile is made
	gathering sync.Mutex // held while a support bundle is made
}

// New returns the handlers, configured by c.
func New(c Config) *API {
	return &API{Config: c, SignIns: peers.NewFailures(signInsPerMinute)}
}
