//go:build linux

package pgtest

import "testing"

func TestStandbyHasWhatThePrimaryCommits(t *testing.T) {
	primary := Start(t)
	standby := primary.AddStandby(t, "second")
	primary.SQL(t, "create table t (n int); insert into t values (7)")
	standby.wait(t, "the row is there", func() bool {
		return standby.SQL(t, "select count(*) from pg_tables where tablename = 't'") == "1"
	})
	primary.Kill()
	standby.Promote(t)
	if got := standby.SQL(t, "insert into t values (8); select sum(n) from t"); got != "15" {
		t.Errorf("after the promotion the sum is %s", got)
	}
}
