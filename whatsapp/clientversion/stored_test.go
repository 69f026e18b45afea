package clientversion

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"postern/store"
	"postern/whatsapp"
)

func TestARestartForgetsNoRepetition(t *testing.T) {
	inBubble(t, Auto, func(g *rig) {
		g.refuse(1)
		time.Sleep(45 * time.Minute) // at 0, 10 and 40 minutes; the next is due at 100
		g.wantAsked(3)
		g.reboot()
		time.Sleep(54 * time.Minute)
		g.wantAsked(3)
		time.Sleep(2 * time.Minute)
		g.wantAsked(4)
		g.stop()
		time.Sleep(5 * time.Hour) // away while the next is due
		g.boot()
		g.wantAsked(5)
		g.names(newer(1))
		time.Sleep(61 * time.Minute)
		g.wantCurrent(newer(1), Fetched)
	})
}

// TestCrashDuringRequestKeepsTheInterval: the state is in the file before the request
// is sent.
func TestCrashDuringRequestKeepsTheInterval(t *testing.T) {
	inBubble(t, Auto, func(g *rig) {
		var inFile state
		g.answer = func(ctx context.Context) (whatsapp.Version, error) {
			inFile, _ = load(g.s)
			<-ctx.Done() // the program ends
			return newer(1), nil
		}
		g.refuse(1)
		synctest.Wait()
		began := time.Now()
		if !inFile.AskedAt.Equal(began) || !inFile.Due.Equal(began.Add(10*time.Minute)) {
			t.Errorf("in the file at that time: %+v", inFile)
		}
		g.reboot()
		g.wantCurrent(whatsapp.BuiltinVersion(), Builtin)
		g.names(newer(1))
		if _, asked := g.refuse(1); asked {
			t.Error("asked again at once")
		}
		time.Sleep(9 * time.Minute)
		g.wantAsked(1)
		time.Sleep(2 * time.Minute)
		g.wantAsked(2)
		g.wantCurrent(newer(1), Fetched)
	})
}

func TestAnAnswerIsStoredBeforeItIsUsed(t *testing.T) {
	inBubble(t, Auto, func(g *rig) {
		g.names(newer(1))
		used := make(chan state, 1)
		g.r.cfg.Client = onSet{g, func() {
			st, _ := load(g.s)
			used <- st
		}}
		g.refuse(1)
		if st := <-used; st.Version != newer(1).String() {
			t.Errorf("in the file when it is used: %+v", st)
		}
	})
}

// onSet is a client that calls set before a version is used.
type onSet struct {
	*rig
	set func()
}

func (o onSet) SetVersion(v whatsapp.Version) {
	o.set()
	o.rig.SetVersion(v)
}

func TestStoredVersionIsUsedUntilBuiltinCatchesUp(t *testing.T) {
	builtin := whatsapp.BuiltinVersion()
	older := builtin
	older[2]--
	for stored, want := range map[string]struct {
		version whatsapp.Version
		source  Source
	}{
		newer(9).String():   {newer(9), Stored},
		builtin.String():    {builtin, Builtin},
		older.String():      {builtin, Builtin},
		"3.3000.4000000000": {builtin, Builtin},
		"no version":        {builtin, Builtin},
		"":                  {builtin, Builtin},
	} {
		inBubble(t, Auto, func(g *rig) {
			if err := (state{Version: stored}).save(g.s); err != nil {
				t.Fatal(err)
			}
			g.reboot()
			g.wantCurrent(want.version, want.source)
			g.setting = BuiltinOnly
			g.reboot()
			g.wantCurrent(builtin, Builtin)
			g.setting = newer(3).String()
			g.reboot()
			g.wantCurrent(newer(3), Pinned)
			g.setting = Auto
			g.reboot()
			g.wantCurrent(want.version, want.source)
		})
	}
}

// TestRetryForAnotherVersionIsDropped: after an update of the program, its version has
// not been rejected yet.
func TestStoredVersionBelongsToOneNetwork(t *testing.T) {
	inBubble(t, Auto, func(g *rig) {
		said := state{Network: "sandbox", Version: newer(9).String(), Refused: whatsapp.BuiltinVersion().String(), AskedAt: time.Now(), Failures: 1, Due: time.Now()}
		if err := said.save(g.s); err != nil {
			t.Fatal(err)
		}
		g.reboot()
		g.wantCurrent(whatsapp.BuiltinVersion(), Builtin)
		g.wantAsked(0)
		if _, asked := g.refuse(1); !asked {
			t.Error("not asked at once")
		}
	})
}

func TestADamagedRecordIsLeftAside(t *testing.T) {
	inBubble(t, Auto, func(g *rig) {
		if err := g.s.Update(bg, func(tx *store.Tx) error { return tx.Put(bucket, []byte(only), []byte(`{"version":7}`)) }); err != nil {
			t.Fatal(err)
		}
		g.reboot()
		g.wantCurrent(whatsapp.BuiltinVersion(), Builtin)
		g.learns(newer(1))
		g.reboot()
		g.wantCurrent(newer(1), Stored)
	})
}

func TestUnstoredVersionIsUsedAndStoredLater(t *testing.T) {
	inBubble(t, Auto, func(g *rig) {
		g.names(newer(1))
		broken, err := store.Open(store.Options{Path: g.path + "2", Buckets: Buckets(), NoSync: true, MinFree: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := broken.Close(); err != nil {
			t.Fatal(err)
		}
		g.keepIn(broken)
		g.refuse(1)
		time.Sleep(2 * time.Second)
		g.wantCurrent(newer(1), Fetched)
		g.keepIn(g.s)
		time.Sleep(2 * time.Minute)
		g.reboot()
		g.wantCurrent(newer(1), Stored)
	})
}
