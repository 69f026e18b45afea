package diagnosis

import (
	"testing"

	"postern/cluster/postgres/pgtest"
	"postern/e2e/rig"
)

// The doctor examines the server of store.url as a start does, and makes no tables.
func TestDoctorExaminesTheDatabase(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a database server")
	}
	t.Parallel() // it waits more than it works
	o := &operator{rig.Beside(t, rig.NewWorld(t)), t}
	_, found := o.doctor()
	if len(found["database"])+len(found["second copy"])+len(found["database clock"]) > 0 {
		t.Errorf("without store.url it examines %v", found)
	}
	server := pgtest.Start(t)
	url := "STORE_URL=" + pgtest.URL("postgres", server)
	status, found := o.doctor(url)
	is(t, found, "database", "ok", "PostgreSQL 1")
	is(t, found, "second copy", "fault", "synchronous_standby_names is empty")
	is(t, found, "database clock", "ok", "s apart")
	if status != 1 {
		t.Errorf("the status is %d", status)
	}
	if server.SQL(t, "select to_regnamespace('postern') is null") != "t" {
		t.Error("it made the tables")
	}
	_, found = o.doctor(url, "STORE_ACCEPT_LOSS=true")
	is(t, found, "second copy", "warning", "store.accept_loss")
	server.SetSynchronous(t, "second")
	_, found = o.doctor(url)
	is(t, found, "second copy", "ok", "commits wait for second")
	server.SetSynchronous(t, "")
	server.SQL(t, "create database ascii template template0 encoding 'SQL_ASCII' locale 'C'")
	_, found = o.doctor("STORE_URL=" + pgtest.URL("ascii", server))
	is(t, found, "database", "fault", "UTF8")
	server.SQL(t, "alter system set full_page_writes = off")
	server.SQL(t, "select pg_reload_conf()")
	o.Await("the server has the setting", func() bool { return server.SQL(t, "show full_page_writes") == "off" })
	_, found = o.doctor(url)
	is(t, found, "database", "fault", "full_page_writes")
	_, found = o.doctor("STORE_URL=postgres://postern@" + rig.FreeAddress(t) + "/postern")
	is(t, found, "database", "fault", "cannot be reached")
}
