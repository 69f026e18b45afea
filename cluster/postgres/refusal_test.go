//go:build linux

package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"postern/cluster"
	"postern/cluster/postgres/pgtest"
	"postern/store"
)

// as returns the URL of a database for another user.
func as(server *pgtest.Server, database, user string) string {
	return fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/%s?sslmode=disable", user, secretOf(user), server.Port, database)
}

func secretOf(user string) string { return "secret-of-" + user }

// user makes one, with the rights that the statements grant.
func user(t *testing.T, server *pgtest.Server, database, name string, statements ...string) string {
	t.Helper()
	server.In(t, database, "create user "+name+" password '"+secretOf(name)+"'")
	for _, sql := range statements {
		server.In(t, database, sql)
	}
	return as(server, database, name)
}

func serverThatIsUnfitIsRefused(t *testing.T, server *pgtest.Server) {
	check := func(url string, o Options) error {
		d, err := Open(url, o)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		_, err = d.Check(t.Context())
		return err
	}
	trusting := Options{withoutSync: true}
	refused := func(err error, words ...string) {
		t.Helper()
		if !errors.Is(err, cluster.ErrUnfit) {
			t.Errorf("error %v, want one of a server that is unfit", err)
		}
		contains(t, err, words...)
	}

	refused(check(pgtest.URL(server.Database(t), server), Options{}), "fsync")

	server.SQL(t, "create database ascii template template0 encoding 'SQL_ASCII' locale 'C'")
	refused(check(pgtest.URL("ascii", server), trusting), "SQL_ASCII", "UTF8")

	name := server.Database(t)
	nothing := user(t, server, name, "nothing")
	refused(check(nothing, trusting), "may not create the tables", "postern migrate --print-sql")
	looking := Options{withoutSync: true, ReadOnly: true}
	refused(check(nothing, looking), "may not create the tables", "postern migrate --print-sql")
	if err := check(pgtest.URL(name, server), looking); err != nil {
		t.Errorf("a user who may create the tables: %v", err)
	}
	if made := server.In(t, name, "select to_regnamespace('postern') is not null"); made != "f" {
		t.Errorf("a check that changes nothing made the tables: %q", made)
	}

	// The statements and rights on the tables are enough for a user who may not create them.
	if err := check(pgtest.URL(name, server), trusting); err != nil {
		t.Fatal(err)
	}
	refused(check(as(server, name, "nothing"), trusting), "permission denied", "postern migrate --print-sql")
	for line := range strings.Lines(grants()) {
		if sql, is := strings.CutPrefix(line, "-- grant"); is {
			server.In(t, name, "grant"+strings.ReplaceAll(sql, "USER", "nothing"))
		}
	}
	if err := check(as(server, name, "nothing"), trusting); err != nil {
		t.Errorf("a user with the rights on the tables: %v", err)
	}
	o := own(t, open(t, as(server, name, "nothing")))
	o.must(o.commit())
	server.In(t, name, "revoke delete on postern.kv from nothing")
	refused(check(as(server, name, "nothing"), trusting), "postern.kv")

	server.In(t, name, "update postern.program set tables_version = 7")
	refused(check(pgtest.URL(name, server), trusting), "version 7", fmt.Sprint("version ", tablesVersion))

	proxy := server.StartProxy(t)
	proxy.Answer = func(b []byte) []byte { // a pooler gives each client a number of its own
		if at := bytes.Index(b, []byte("K\x00\x00\x00\x0c")); at >= 0 {
			b[at+8] ^= 1
		}
		return b
	}
	refused(check(proxy.URL(name), trusting), "pooler")
}

func refusalsSayWhatToDo(t *testing.T, server *pgtest.Server) {
	name := server.Database(t)
	_, err := open(t, pgtest.URL(name, server)).Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	good := user(t, server, name, "few", "alter user few connection limit 0", "grant usage on schema postern to few")
	forbidden := user(t, server, name, "stranger", "revoke connect on database "+name+" from public")
	server.In(t, name, "grant connect on database "+name+" to few")
	readOnly := user(t, server, name, "reader", "alter user reader set default_transaction_read_only = on", "grant connect on database "+name+" to reader")
	for _, c := range []struct {
		url  string
		kind error
		says string
	}{
		{strings.Replace(good, secretOf("few"), "wrong", 1), cluster.ErrRefused, "user and password"},
		{pgtest.URL("missing", server), cluster.ErrRefused, "create the database"},
		{good, cluster.ErrRefused, "max_connections"},
		{forbidden, cluster.ErrRefused, "grant"},
		{readOnly, cluster.ErrReadOnly, "read-only"},
		{pgtest.URL(name, server) + "&no_such_parameter=1", cluster.ErrRefused, "parameters of store.url"},
		{strings.Replace(good, "sslmode=disable", "sslmode=require", 1), cluster.ErrRefused, "sslmode"},
		{strings.Replace(good, fmt.Sprint(server.Port), "1", 1), cluster.ErrUnreachable, "connection refused"},
		{strings.Replace(good, "127.0.0.1", "no-such-host.invalid", 1), cluster.ErrUnreachable, "no-such-host.invalid"},
	} {
		_, _, err := open(t, c.url).Look(t.Context(), "main")
		if !errors.Is(err, c.kind) {
			t.Errorf("%s: error %v, want one that wraps %q", c.url, err, c.kind)
		}
		contains(t, err, c.says)
		if strings.Contains(fmt.Sprint(err), "\n") {
			t.Errorf("%s: the error has several lines: %q", c.url, err)
		}
	}
}

func standbyIsReadOnly(t *testing.T, primary, second *pgtest.Server) {
	name := primary.Database(t)
	within(t, time.Minute, "the copy has the database", func() bool {
		return second.SQL(t, "select count(*) from pg_database where datname = '"+name+"'") == "1"
	})
	if _, err := open(t, pgtest.URL(name, second)).Check(t.Context()); !errors.Is(err, cluster.ErrReadOnly) {
		t.Errorf("the check of a standby returns %v", err)
	}
	server, err := open(t, pgtest.URL(name, second, primary)).Check(t.Context())
	if err != nil || server.Primary != fmt.Sprintf("127.0.0.1:%d", primary.Port) {
		t.Errorf("with both the primary is %q, error %v", server.Primary, err)
	}
}

func serverWithoutRoomRefusesTheCommit(t *testing.T, server *pgtest.Server) {
	name := server.Database(t)
	o := own(t, open(t, pgtest.URL(name, server)))
	server.In(t, name, `create function full_disk() returns trigger language plpgsql as $$ begin raise 'no room' using errcode = '53100'; end $$;
		create trigger full_disk before insert on postern.kv execute function full_disk()`)
	err := o.commit()
	if !errors.Is(err, store.ErrDiskFull) || errors.Is(err, cluster.ErrInDoubt) {
		t.Errorf("a commit without room returns %v", err)
	}
	if c, _, err := o.Look(t.Context(), "main"); err != nil || c.Version != 0 {
		t.Errorf("the cell is at version %d, error %v", c.Version, err)
	}
	server.In(t, name, "drop trigger full_disk on postern.kv")
	o.must(o.commit())
	o.holds()
}

func changeThatNoServerTakesIsRefused(t *testing.T, server *pgtest.Server) {
	name := server.Database(t)
	o := own(t, open(t, pgtest.URL(name, server)))
	c := o.next()
	c.Rows[0].Bucket = "no UTF-8 \xff"
	err := o.Commit(t.Context(), o.g, c)
	if err == nil || errors.Is(err, cluster.ErrInDoubt) || errors.Is(err, cluster.ErrUnreachable) {
		t.Errorf("the commit returns %v", err)
	}
	server.In(t, name, "alter table postern.kv rename to other")
	if err := o.commit(); !errors.Is(err, cluster.ErrUnfit) || errors.Is(err, cluster.ErrInDoubt) {
		t.Errorf("a commit without the table returns %v", err)
	}
	server.In(t, name, "alter table postern.other rename to kv")
	o.must(o.commit())
}

func sessionsIgnoreSettingsOfTheRole(t *testing.T, server *pgtest.Server) {
	name := server.Database(t)
	address := user(t, server, name, "other")
	for _, setting := range []string{
		"statement_timeout = '200ms'", "lock_timeout = '1ms'", "idle_in_transaction_session_timeout = '1ms'", "idle_session_timeout = '10min'",
		"synchronous_commit = off", "default_transaction_isolation = 'serializable'", "client_encoding = 'LATIN1'",
	} {
		server.SQL(t, "alter role other set "+setting)
	}
	d := open(t, address)
	for of, synchronous := range map[lane]string{writes: "on", aside: "local", loads: "on"} {
		want := []string{"0", "0", "0", "0", synchronous, "read committed", "UTF8"}
		err := d.do(t.Context(), of, func(s *session) error {
			rows, err := s.query(t.Context(), `select current_setting(n) from unnest('{statement_timeout,lock_timeout,idle_in_transaction_session_timeout,idle_session_timeout,`+
				`synchronous_commit,transaction_isolation,client_encoding}'::text[]) n`)
			var got []string
			for _, r := range rows {
				got = append(got, r.text(0))
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("settings %q, want %q", got, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	server.SQL(t, "alter role other set synchronous_commit = remote_apply")
	d = open(t, address)
	err := d.do(t.Context(), writes, func(s *session) error {
		rows, err := s.query(t.Context(), "select current_setting('synchronous_commit')")
		if err == nil && rows[0].text(0) != "remote_apply" {
			t.Errorf("remote_apply became %s", rows[0].text(0))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func cellWithOwnerTakesNoFilling(t *testing.T, server *pgtest.Server) {
	o := own(t, open(t, pgtest.URL(server.Database(t), server)))
	row := store.Row{Bucket: "b", Key: []byte("k"), Value: []byte("v")}
	if err := o.Fill(t.Context(), "main", []store.Row{row}); err == nil {
		t.Error("rows were added beside an owner")
	}
	o.must(o.Create(t.Context(), "other", "id"))
	if err := o.Fill(t.Context(), "other", []store.Row{row, row}); err == nil {
		t.Error("a row was added twice")
	}
	o.must(o.Fill(t.Context(), "other", []store.Row{row}))
}

func changesOfAnHourAgoAreRemoved(t *testing.T, server *pgtest.Server) {
	database := server.Database(t)
	o := own(t, open(t, pgtest.URL(database, server)))
	for range 20 {
		o.must(o.commit())
	}
	o.must(o.Join(o.ctx, "main", cluster.Member{Name: "behind", Run: "r", Version: 8}))
	for _, step := range []struct{ old, want int }{{0, 8}, {12, 4}, {20, 5}} { // the newest three stay
		server.In(t, database, fmt.Sprintf("update postern.change_log set made = clock_timestamp() - interval '61 minutes' where version <= %d", step.old))
		if n, err := o.Prune(o.ctx, "main", 3); n != step.want || err != nil {
			t.Errorf("with %d old changes %d are removed, want %d; error %v", step.old, n, step.want, err)
		}
	}
}

func largeChangesComeInSteps(t *testing.T, server *pgtest.Server) {
	o := own(t, open(t, pgtest.URL(server.Database(t), server)))
	large := bytes.Repeat([]byte("0123456789abcdef"), changesBytes/16/4)
	for range 7 {
		c := o.next()
		c.Rows[1].Value = large
		o.must(o.Commit(t.Context(), o.g, c))
		o.version++
	}
	steps := 0
	for after := uint64(0); after < 7; steps++ {
		changes, complete, err := o.Changes(t.Context(), "main", after, 100)
		if err != nil || !complete || len(changes) == 0 {
			t.Fatalf("%d changes, complete %v, error %v", len(changes), complete, err)
		}
		after += uint64(len(changes))
	}
	if steps != 2 {
		t.Errorf("they came in %d steps", steps)
	}
	n := 0
	stop := errors.New("enough")
	for range 3 { // more is on its way when the reader stops
		err := o.Rows(t.Context(), "main", func(store.Row) error { n++; return stop })
		if !errors.Is(err, stop) {
			t.Errorf("error %v", err)
		}
	}
	if n != 3 {
		t.Errorf("%d rows after the first", n-3)
	}
	o.holds()
}

func endedContextEndsAHangingCall(t *testing.T, server *pgtest.Server) {
	proxy := server.StartProxy(t)
	o := own(t, open(t, proxy.URL(server.Database(t))))
	proxy.Darken(true)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := o.Renew(ctx, o.g); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, cluster.ErrUnreachable) {
		t.Errorf("a renewal returns %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	proxy.Darken(false)
	if _, err := o.Renew(t.Context(), o.g); err != nil {
		t.Errorf("the next renewal returns %v", err)
	}
}

func passwordIsNeverShown(t *testing.T, server *pgtest.Server) {
	name := server.Database(t)
	for _, password := range []string{"simple-pass", "p@ss/w:rd %41é?#[]", `quo"te\back'`, "%zz", "a b+c", "tab\tnew\nline", "日本語"} {
		var urls []string
		for _, written := range []string{password, url.QueryEscape(password), url.PathEscape(password), url.UserPassword("", password).String()[1:]} {
			urls = append(urls,
				fmt.Sprintf("postgres://postgres:%s@127.0.0.1:%d/%s", written, server.Port, name),
				fmt.Sprintf("postgres://postgres:%s@127.0.0.1:1/%s", written, name),
				fmt.Sprintf("postgres://postgres:%s@127.0.0.1:notaport/%s?sslmode=wrong", written, name),
				fmt.Sprintf("postgresql://postgres@127.0.0.1:%d/%s?password=%s&sslmode=disable", server.Port, name, written),
				fmt.Sprintf("postgres://postgres:%s@[127.0.0.1/%s", written, name),
				fmt.Sprintf("mysql://postgres:%s@127.0.0.1/%s", written, name),
			)
		}
		shown := func(u string, value any) {
			t.Helper()
			for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
				text := fmt.Sprintf(format, value)
				for _, secret := range []string{password, url.QueryEscape(password), url.PathEscape(password)} {
					if strings.Contains(text, secret) {
						t.Errorf("%s of %s shows %q: %s", format, u, secret, text)
					}
				}
			}
		}
		for _, u := range urls {
			if strings.Contains(Redact(u, "url "+u), password) {
				t.Errorf("Redact shows %q: %s", password, Redact(u, u))
			}
			d, err := Open(u, Options{})
			if err != nil {
				shown(u, err)
				continue
			}
			shown(u, d)
			_, err = d.Check(t.Context())
			if err == nil {
				t.Fatalf("%s is accepted", u)
			}
			for ; err != nil; err = errors.Unwrap(err) {
				shown(u, err)
			}
			d.Close()
		}
	}
	t.Setenv("PGPASSWORD", "from-the-environment")
	d := open(t, fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s", server.Port, name))
	if text := d.fault(t.Context(), errors.New("from-the-environment")).Error(); strings.Contains(text, "from-the-environment") {
		t.Errorf("a password of the environment is shown: %s", text)
	}
}

func silentHostHoldsUpNoCall(t *testing.T, server *pgtest.Server) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it takes connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	name := server.Database(t)
	address := strings.Replace(pgtest.URL(name, server), "@", fmt.Sprintf("@127.0.0.1:%d,", silent.Addr().(*net.TCPAddr).Port), 1)
	d, err := Open(address, Options{withoutSync: true, Noticed: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	found, err := d.Check(t.Context())
	if err != nil || found.Primary != fmt.Sprintf("127.0.0.1:%d", server.Port) {
		t.Errorf("the primary is %q, error %v", found.Primary, err)
	}
	if d.last.Load() != 1 {
		t.Errorf("the next connection begins with host %d", d.last.Load())
	}
}

func slowServerIsReached(t *testing.T, server *pgtest.Server) {
	proxy := server.StartProxy(t)
	d, err := Open(proxy.URL(server.Database(t)), Options{Noticed: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	time.AfterFunc(time.Second, proxy.Hold())
	if _, err := d.Check(t.Context()); errors.Is(err, cluster.ErrUnreachable) {
		t.Error(err)
	}
}

func deadConnectionIsNoticed(t *testing.T, server *pgtest.Server) {
	d := open(t, pgtest.URL(server.Database(t), server))
	err := d.do(t.Context(), aside, func(s *session) error {
		raw, err := s.conn.Conn().(*net.TCPConn).SyscallConn()
		if err != nil {
			return err
		}
		return raw.Control(func(fd uintptr) {
			for option, most := range map[int]int{unix.TCP_USER_TIMEOUT: 3000, unix.TCP_KEEPIDLE: 1, unix.TCP_KEEPINTVL: 1, unix.TCP_KEEPCNT: 2} {
				if n, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option); err != nil || n == 0 || n > most {
					t.Errorf("socket option %d is %d, error %v", option, n, err)
				}
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func serverThatBecameReadOnlyIsLeft(t *testing.T, server *pgtest.Server) {
	name := server.Database(t)
	o := own(t, open(t, pgtest.URL(name, server)))
	o.must(o.commit())
	err := o.do(t.Context(), writes, func(s *session) error { // as a server does that is demoted
		_, err := s.query(t.Context(), "select set_config('transaction_read_only', 'on', false), set_config('default_transaction_read_only', 'on', false)")
		return err
	})
	o.must(err)
	o.must(o.commit())
	o.holds()
}
