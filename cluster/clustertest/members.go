package clustertest

import (
	"bytes"
	"reflect"
	"time"

	"postern/cluster"
)

func nameBelongsToOneProcess(t fixture) {
	t.create("a")
	first, second := member("n1"), member("n1")
	second.Run = "another"
	t.must(t.d.Join(t.ctx, "a", first))
	t.must(t.d.Join(t.ctx, "a", first))
	err := t.d.Join(t.ctx, "a", second)
	t.wants(err, cluster.ErrNameTaken)
	if err != nil && !bytes.Contains([]byte(err.Error()), []byte(first.Address)) {
		t.Errorf("the error does not name the address: %v", err)
	}
	t.must(t.d.Leave(t.ctx, "a", "n1", second.Run))
	t.wants(t.d.Join(t.ctx, "a", second), cluster.ErrNameTaken)
	t.must(t.d.Leave(t.ctx, "a", "n1", first.Run))
	t.must(t.d.Join(t.ctx, "a", second))

	dead := member("n2")
	dead.Lease = time.Millisecond
	t.must(t.d.Join(t.ctx, "a", dead))
	second.Name = "n2"
	for began := time.Now(); ; {
		err := t.d.Join(t.ctx, "a", second)
		if err == nil {
			break
		}
		t.wants(err, cluster.ErrNameTaken)
		if time.Since(began) > 10*time.Second {
			t.Fatal("the registration of a dead process stays")
		}
	}
}

func secretsAreKept(t fixture) {
	t.create("a")
	t.create("b")
	value, err := t.d.Secret(t.ctx, "a", "key")
	t.must(err)
	if value != nil {
		t.Errorf("a secret %q before one was set", value)
	}
	t.must(t.d.SetSecret(t.ctx, "a", "key", []byte("one")))
	t.must(t.d.SetSecret(t.ctx, "a", "key", []byte("two\x00")))
	t.must(t.d.SetSecret(t.ctx, "b", "key", []byte("three")))
	if value, err = t.d.Secret(t.ctx, "a", "key"); err != nil || string(value) != "two\x00" {
		t.Errorf("secret %q, error %v", value, err)
	}
}

func membersAreReported(t fixture) {
	t.create("a")
	t.create("b")
	n1, n2 := member("n1"), member("n2")
	n2.Digests, n2.Role, n2.Version, n2.Full = nil, "standby", 1<<40, true
	t.must(t.d.Join(t.ctx, "a", n2))
	t.must(t.d.Join(t.ctx, "a", n1))
	t.must(t.d.Join(t.ctx, "b", member("n3")))
	all, err := t.d.Members(t.ctx, "a")
	t.must(err)
	for i := range all {
		if time.Since(all[i].Seen).Abs() > time.Minute {
			t.Errorf("%s was seen %s", all[i].Name, all[i].Seen)
		}
		all[i].Seen = time.Time{}
	}
	if !reflect.DeepEqual(all, []cluster.Member{n1, n2}) {
		t.Errorf("members %+v", all)
	}
}
