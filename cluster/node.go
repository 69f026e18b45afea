package cluster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"postern/store"
)

// Config is what a node needs. All fields but those marked are required.
type Config struct {
	Database   Database
	Cell       string
	Name       string // of the node
	Address    string // where other nodes reach it; optional
	Program    string // version of the program; optional
	Lease      time.Duration
	AcceptLoss bool // accept a server whose commits wait for no second copy

	// Digests are digests of settings, by the name of the setting: those in which a node
	// differs from the owner are reported. A node that differs from a live one in one of
	// Agree is refused. Optional.
	Digests map[string]string
	Agree   []string

	// File opens the data file. Its Follow, and the end of the process in Fatal, are the
	// node's.
	File store.Options

	// Ended is called once when the process must end because the lease has ended: err says
	// who owns the cell.
	Ended func(err error)

	// HandOver is called once to stop the process in order, when the disk is full and a
	// standby has room; nil: an owner goes on.
	HandOver func()

	// DiskFull reports whether the disk of the file is full or nearly full; nil:
	// store.Store.DiskFull.
	DiskFull func(*store.Store) bool

	// OnCommit is called with the time that the database took for a commit; nil: no call.
	OnCommit func(took time.Duration)

	// OnStandby is called in a goroutine of its own each time the node becomes a standby;
	// nil: no call.
	OnStandby func()

	Logger *slog.Logger

	// Awake is a clock that goes on while the machine sleeps; nil: the machine's.
	Awake func() time.Duration
	// Now is the clock of the machine; nil: time.Now.
	Now func() time.Time
}

// Errors of [Node.Lead] that a restart does not cure.
var (
	// ErrLeft: the data of the cell were moved out of the database.
	ErrLeft = errors.New("the data of this cell were moved out")
	// ErrNotSynchronous: no second copy of a commit exists when it is answered.
	ErrNotSynchronous = errors.New("the database server does not wait for a second copy")
	// ErrWentBack: the cell is older than the file.
	ErrWentBack = errors.New("ENGINE_WENT_BACK: the database is older than the data file")
	// ErrSettings: the nodes of a cell do not agree on a setting.
	ErrSettings = errors.New("the nodes of the cell have different settings")
)

// Role is what a node does.
type Role string

// The roles, in the order in which a node passes through them.
const (
	Connecting Role = "connecting" // to the database
	Loading    Role = "loading"    // the rows of the cell into the file
	Standby    Role = "standby"
	Owner      Role = "owner"
)

// State is what a node reports.
type State struct {
	Role   Role
	Reason error     // why it is Connecting, nil otherwise
	Cell   Cell      // as the node saw it last
	Behind uint64    // versions that the file lacks
	Full   bool      // the disk of the file is full: a standby does not follow
	Since  time.Time // of the role
	Server Server

	Lease       time.Duration
	OwnerSilent time.Duration // how long a standby has seen no renewal
}

// Node is this process in a cell.
type Node struct {
	cfg Config
	run string // tells this process apart from others with its name
	log *slog.Logger

	mu    sync.Mutex
	state State
	file  *store.Store  // nil before it is open
	grant *grant        // nil before the node is owner
	level time.Duration // when the file had all changes, by Config.Awake; 0: not yet

	ahead  time.Duration // of the server's clock
	warned int           // warnings that were logged
	noRoom time.Duration // when a write failed because the disk was full, by Config.Awake; 0: none did

	// Of the goroutine of Lead.
	life context.Context // of Lead
	held *held           // changes that a standby may not apply yet; nil: there are none

	renewed time.Duration // when a standby saw the newest renewal, by Config.Awake; 0: not yet
}

// New returns a node that has not begun.
func New(cfg Config) *Node {
	var run [8]byte
	rand.Read(run[:])
	if cfg.Awake == nil {
		cfg.Awake = awake
	}
	if cfg.DiskFull == nil {
		cfg.DiskFull = (*store.Store).DiskFull
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Node{cfg: cfg, run: hex.EncodeToString(run[:]), log: cfg.Logger.With("component", "cluster"), state: State{Role: Connecting, Since: time.Now(), Lease: cfg.Lease}}
}

// pauses of a node
const (
	pollEvery   = 200 * time.Millisecond // between two looks of a standby at the cell
	joinEvery   = time.Second            // between two renewals of a registration
	lookEvery   = time.Minute            // between two looks of a standby at the server
	connectWait = time.Second            // between two attempts to reach the database
	callTimeout = 5 * time.Second        // of one call
	barrierWait = time.Second            // of one look for changes that are not in every copy
	changesStep = 512                    // changes that are applied at once
)

// Lead returns the file once this process owns the cell. Until then it is a standby. It
// waits for a database that cannot be reached for as long as ctx lasts. Other errors need
// an operator: they wrap ErrUnfit, ErrNotSynchronous, ErrLeft, ErrWentBack, ErrSettings,
// ErrNameTaken, or an error of store.Open.
func (n *Node) Lead(ctx context.Context) (*store.Store, error) {
	n.life = ctx
	if err := n.connect(ctx); err != nil {
		return nil, err
	}
	for {
		s, err := n.follow(ctx)
		switch {
		case err == nil:
			return s, nil
		case ctx.Err() != nil:
			return nil, errors.Join(context.Cause(ctx), n.closeFile())
		case away(err):
			n.become(Connecting, err)
			n.pause(ctx, connectWait)
		case errors.Is(err, store.ErrDiskFull):
			n.waitForRoom(ctx, err)
		default:
			return nil, errors.Join(err, n.closeFile())
		}
	}
}

// away reports whether an error of the database may pass by itself.
func away(err error) bool {
	return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrRefused) || errors.Is(err, ErrReadOnly) || errors.Is(err, context.DeadlineExceeded)
}

// connect waits for the database, examines it and registers the node.
func (n *Node) connect(ctx context.Context) error {
	first := n.cfg.Awake()
	for {
		err := n.tryConnect(ctx)
		switch {
		case err == nil, ctx.Err() != nil:
			return err
		case errors.Is(err, ErrNameTaken) && n.cfg.Awake()-first < n.cfg.Lease+2*time.Second:
			n.become(Connecting, err)
		case away(err):
			first = n.cfg.Awake()
			n.become(Connecting, err)
		default:
			return err
		}
		n.pause(ctx, connectWait)
	}
}

func (n *Node) tryConnect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*callTimeout)
	defer cancel()
	server, err := n.examine(ctx)
	if err != nil {
		return err
	}
	_, found, err := n.cfg.Database.Look(ctx, n.cfg.Cell)
	if err != nil {
		return err
	}
	if !found {
		if mark, is, err := store.FileMark(n.cfg.File.Path); err == nil && is && !mark.Alone && mark.Version > 0 {
			return fmt.Errorf("%w: the database has no cell %q, and the data file is a copy of one, at version %d: `postern migrate --to URL` with the newest file makes the cell again; for a new cell set store.path to a new file", ErrWentBack, n.cfg.Cell, mark.Version)
		}
		if len(server.Synchronous) == 0 && !n.cfg.AcceptLoss {
			return fmt.Errorf("%w: synchronous_standby_names is empty, so the loss of the database machine loses what was answered: configure a synchronous standby, or set store.accept_loss", ErrNotSynchronous)
		}
		if err := n.cfg.Database.Create(ctx, n.cfg.Cell, newID()); err != nil && !errors.Is(err, ErrExists) {
			return err
		}
	}
	if err := n.agree(ctx, server.Now); err != nil {
		return err
	}
	return n.join(ctx, Connecting, 0)
}

// examine asks what the server is, and what its clock says.
func (n *Node) examine(ctx context.Context) (Server, error) {
	server, err := n.cfg.Database.Check(ctx)
	if err != nil {
		return server, err
	}
	n.mu.Lock()
	n.state.Server = server
	n.mu.Unlock()
	n.compareClock(server.Now)
	return server, nil
}

// newID returns the ID of a new data set.
func newID() string {
	var id [16]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// agree compares the lease and the digests of settings with those of the other nodes that
// live. now is the time by the server's clock.
func (n *Node) agree(ctx context.Context, now time.Time) error {
	members, err := n.cfg.Database.Members(ctx, n.cfg.Cell)
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.Name == n.cfg.Name || now.Sub(m.Seen) > m.Lease {
			continue
		}
		if m.Lease != n.cfg.Lease {
			return fmt.Errorf("%w: cluster.lease is %s here and %s on %s", ErrSettings, n.cfg.Lease, m.Lease, m.Name)
		}
		for _, setting := range n.cfg.Agree {
			own, has := n.digests()[setting]
			if other, have := m.Digests[setting]; has && have && other != own {
				return fmt.Errorf("%w: %s here is not the one that %s uses", ErrSettings, setting, m.Name)
			}
		}
	}
	return nil
}

func (n *Node) join(ctx context.Context, role Role, version uint64) error {
	return n.cfg.Database.Join(ctx, n.cfg.Cell, n.member(role, version))
}

func (n *Node) member(role Role, version uint64) Member {
	return Member{
		Name: n.cfg.Name, Run: n.run, Address: n.cfg.Address, Program: n.cfg.Program, Role: string(role), Version: version,
		Lease: n.cfg.Lease, Behind: n.Behind(), Digests: n.digests(), Full: n.State().Full,
	}
}

// Behind returns how long the file of a standby has lacked changes.
func (n *Node) Behind() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.level == 0 || n.state.Role == Owner {
		return 0
	}
	return max(0, n.cfg.Awake()-n.level-2*pollEvery)
}

// SetDigest adds the digest of a setting that must agree on all nodes.
func (n *Node) SetDigest(setting, digest string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := maps.Clone(n.cfg.Digests)
	if all == nil {
		all = map[string]string{}
	}
	all[setting] = digest
	n.cfg.Digests = all
}

func (n *Node) digests() map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cfg.Digests
}

// State returns what the node is doing.
func (n *Node) State() State {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.state
	if n.renewed != 0 {
		s.OwnerSilent = n.cfg.Awake() - n.renewed
	}
	return s
}

// become notes a role, and logs a change.
func (n *Node) become(role Role, reason error) {
	n.mu.Lock()
	was, why := n.state.Role, n.state.Reason
	n.state.Role, n.state.Reason = role, reason
	if was != role {
		n.state.Since = time.Now()
	}
	epoch := n.state.Cell.Epoch
	n.mu.Unlock()
	if role == Standby && was != Standby && n.cfg.OnStandby != nil {
		go n.cfg.OnStandby()
	}
	switch {
	case reason != nil && (why == nil || why.Error() != reason.Error()):
		n.log.Warn("waiting for the database", "cell", n.cfg.Cell, "error", reason)
	case was != role:
		n.log.Info("role in the cell", "cell", n.cfg.Cell, "node", n.cfg.Name, "role", string(role), "was", string(was), "epoch", epoch)
	}
}

// pause waits for d or for the end of ctx.
func (n *Node) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (n *Node) closeFile() error {
	n.mu.Lock()
	s := n.file
	n.file = nil
	n.mu.Unlock()
	if s == nil {
		return nil
	}
	return s.Close()
}

// File returns the file of a node that follows, nil before it is open.
func (n *Node) File() *store.Store {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.file
}
