package postgres

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// lane is what a connection is for. No call waits for one of another lane.
type lane int

const (
	writes lane = iota // waits for the second copy
	aside              // renewals and looks: does not wait for it
	loads              // many rows; waits for the second copy
	lanes
)

// kept is the number of idle connections of a lane that are kept.
const kept = 2

// pingAfter is the time after which an idle connection is asked whether it still lives.
const pingAfter = time.Second

// settings are those of each session, on servers that know them.
const settings = `set statement_timeout = 0;
select set_config(name, case
	when name = 'synchronous_commit' then case when %[1]s then 'local' when setting = 'remote_apply' then setting else 'on' end
	when name in ('enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit') then case when %[2]s then 'off' else setting end
	when name = 'plan_cache_mode' then case when %[2]s then 'force_generic_plan' else setting end
	when name = 'default_transaction_isolation' then 'read committed'
	when name = 'client_encoding' then 'UTF8'
	when name = 'tcp_keepalives_idle' then '5'
	when name = 'tcp_keepalives_interval' then '2'
	when name = 'tcp_keepalives_count' then '3'
	else '0' end, false)
from pg_settings where name in ('synchronous_commit', 'enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit', 'plan_cache_mode', 'default_transaction_isolation',
	'client_encoding', 'tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count',
	'lock_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout', 'transaction_timeout');
select pg_backend_pid(), pg_is_in_recovery() or current_setting('transaction_read_only')::boolean`

// session is a connection. It is used by one call at a time.
type session struct {
	conn     *pgconn.PgConn
	lane     lane
	used     time.Time
	prepared map[string]*pgconn.StatementDescription

	// warned: the server said that it ended its wait for the second copy early.
	warned bool
}

// warnings that a commit is not known to be in the second copy: a cancelled wait, and one that
// ended with the session. Other warnings with the first code cost a question more.
const (
	warning       = "01000"
	adminShutdown = "57P01"
)

// stagger is the time after which the next host is tried beside one that does not answer.
const stagger = 300 * time.Millisecond

// dial opens a connection to the server that takes changes. The host of the last connection is
// tried first, so that a dead one holds up no later call.
func (d *Database) dial(ctx context.Context, of lane) (*session, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		*session
		host int
		err  error
	}
	results := make(chan result, len(d.hosts))
	begun, running := 0, 0
	try := func() {
		host := (int(d.last.Load()) + begun) % len(d.hosts)
		begun, running = begun+1, running+1
		go func() {
			s, err := dialHost(ctx, d.hosts[host], of)
			results <- result{s, host, err}
		}()
	}
	var errs []error
	for try(); running > 0; {
		var next <-chan time.Time
		if begun < len(d.hosts) {
			next = time.After(stagger)
		}
		select {
		case <-next:
			try()
		case r := <-results:
			running--
			if r.err == nil {
				d.last.Store(int32(r.host))
				go func() {
					for range running {
						if late := <-results; late.err == nil {
							late.close()
						}
					}
				}()
				return r.session, nil
			}
			if errs = append(errs, r.err); begun < len(d.hosts) {
				try()
			}
		}
	}
	return nil, errors.Join(errs...)
}

// hostsOf returns the configuration of each host, with and without TLS as it says.
func hostsOf(cfg *pgconn.Config) (hosts []*pgconn.Config) {
	variants := append([]*pgconn.FallbackConfig{{Host: cfg.Host, Port: cfg.Port, TLSConfig: cfg.TLSConfig}}, cfg.Fallbacks...)
	for i, v := range variants {
		if i == 0 || v.Host != variants[i-1].Host || v.Port != variants[i-1].Port {
			host := cfg.Copy()
			host.Host, host.Port, host.TLSConfig, host.Fallbacks = v.Host, v.Port, v.TLSConfig, nil
			hosts = append(hosts, host)
		} else {
			last := hosts[len(hosts)-1]
			last.Fallbacks = append(last.Fallbacks, v)
		}
	}
	return hosts
}

// dialHost opens a connection to one host.
func dialHost(ctx context.Context, host *pgconn.Config, of lane) (*session, error) {
	s := &session{lane: of, prepared: map[string]*pgconn.StatementDescription{}}
	cfg := host.Copy()
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		s.warned = s.warned || n.Code == warning || n.Code == adminShutdown
	}
	cfg.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error { return begin(ctx, conn, of) }
	// The library sends a request to cancel when it gives a connection up. It would end the
	// wait of a commit for its second copy.
	var open atomic.Bool
	dial := cfg.DialFunc
	cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if open.Load() {
			return nil, errors.New("requests to cancel are not sent")
		}
		return dial(ctx, network, address)
	}
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	open.Store(true)
	s.conn, s.warned = conn, false
	return s, nil
}

// begin examines and sets a new connection.
func begin(ctx context.Context, conn *pgconn.PgConn, of lane) error {
	results, err := conn.Exec(ctx, settingsOf(of)).ReadAll()
	if err != nil {
		return err
	}
	state := results[len(results)-1].Rows[0]
	switch {
	case string(state[1]) == "t":
		return errRecovery
	case string(state[0]) != pidText(conn.PID()):
		return errPooler
	}
	return nil
}

// dialer opens connections whose death is noticed after some time.
func dialer(noticed time.Duration) pgconn.DialFunc {
	step := max(time.Second, noticed/3)
	nd := &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: step, Interval: step, Count: 2},
		Control: func(network, _ string, raw syscall.RawConn) error {
			if network == "unix" {
				return nil
			}
			return userTimeout(raw, noticed)
		},
	}
	return nd.DialContext
}

// take returns a connection of a lane. The caller gives it back with put. sure: it is asked
// whether it lives if it was idle for long.
func (d *Database) take(ctx context.Context, of lane, sure bool) (*session, error) {
	for {
		s, err := d.idle(of)
		if err != nil {
			return nil, err
		}
		if s == nil {
			return d.dial(ctx, of)
		}
		if !sure || time.Since(s.used) < pingAfter || s.conn.Ping(ctx) == nil {
			s.warned = false
			return s, nil
		}
		d.put(s, nil)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

func (d *Database) idle(of lane) (*session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errors.New("the connections were closed")
	}
	all := d.free[of]
	if len(all) == 0 {
		return nil, nil
	}
	s := all[len(all)-1]
	d.free[of] = all[:len(all)-1]
	return s, nil
}

// put gives a connection back, or ends it if it is of no use any more. err is that of its last
// call: a server that takes no more changes has a successor.
func (d *Database) put(s *session, err error) {
	s.used = time.Now()
	d.mu.Lock()
	if sqlState(err) != readOnly && !s.conn.IsClosed() && !s.conn.IsBusy() && !d.closed && s.conn.TxStatus() == 'I' && len(d.free[s.lane]) < kept {
		d.free[s.lane] = append(d.free[s.lane], s)
		s = nil
	}
	d.mu.Unlock()
	if s != nil {
		s.close()
	}
}

func (s *session) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.conn.Close(ctx) // it may be dead
}

// do calls fn with a connection of a lane. Its errors are those for callers.
func (d *Database) do(ctx context.Context, of lane, fn func(*session) error) error {
	s, err := d.take(ctx, of, true)
	if err == nil {
		err = fn(s)
		d.put(s, err)
	}
	return d.fault(ctx, err)
}

// prepare returns the statement, which the server knows by a number from then on.
func (s *session) prepare(ctx context.Context, sql string) (*pgconn.StatementDescription, error) {
	if known := s.prepared[sql]; known != nil {
		return known, nil
	}
	st, err := s.conn.Prepare(ctx, statementName(len(s.prepared)), sql, nil)
	if err == nil {
		s.prepared[sql] = st
	}
	return st, err
}

// query runs a statement in a transaction of its own.
func (s *session) query(ctx context.Context, sql string, args ...any) ([]row, error) {
	st, err := s.prepare(ctx, sql)
	if err != nil {
		return nil, err
	}
	result := s.conn.ExecStatement(ctx, st, encodeAll(args), binaryFormat, binaryFormat).Read()
	if result.Err != nil {
		return nil, result.Err
	}
	return rowsOf(result), nil
}

func rowsOf(result *pgconn.Result) []row {
	rows := make([]row, len(result.Rows))
	for i, r := range result.Rows {
		rows[i] = r
	}
	return rows
}

// batch runs statements in one transaction and one round trip, each with all args that it
// names, and returns the rows of the last.
func (s *session) batch(ctx context.Context, statements []statement) ([]row, error) {
	var b pgconn.Batch
	for _, st := range statements {
		b.ExecParams(st.sql, encodeAll(st.args), nil, binaryFormat, binaryFormat)
	}
	results, err := s.conn.ExecBatch(ctx, &b).ReadAll()
	if err != nil {
		return nil, err
	}
	return rowsOf(results[len(results)-1]), nil
}

type statement struct {
	sql  string
	args []any
}
