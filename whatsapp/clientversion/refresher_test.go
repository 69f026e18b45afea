package clientversion

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/whatsapp"
)

var bg = context.Background()

func TestNothingIsAskedUnlessAClientWasRefused(t *testing.T) {
	inBubble(t, Auto, func(g *rig) {
		time.Sleep(30 * 24 * time.Hour)
		g.reboot()
		time.Sleep(30 * 24 * time.Hour)
		g.wantAsked(0)
		g.wantCurrent(whatsapp.BuiltinVersion(), Builtin)
	})
}

func TestManyRefusalsAreOneQuestion(t *testing.T) {
	inBubble(t, Auto, func(g *rig) {
		g.names(newer(5))
		old := g.Version().String()
		for id := range int64(50) {
			if known, asked := g.refuse(id + 7); known || !asked {
				t.Errorf("instance %d: known %t, asked %t", id, known, asked)
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		g.wantAsked(1)
		g.wantCurrent(newer(5), Fetched)
		if !slices.Equal(g.ended, []bool{true}) || g.through[0] != 7 {
			t.Errorf("ended %v, asked through %v", g.ended, g.through)
		}
		if known, asked := g.r.Outdated(60, old); !known || asked {
			t.Errorf("a refusal that comes late: known %t, asked %t", known, asked)
		}
		g.wantAsked(1)
	})
}

func TestFailedRequestIsRetriedWithBackoff(t *testing.T) {
	inBubble(t, Auto, func(g *rig) {
		began := time.Now()
		g.refuse(1)
		time.Sleep(5 * time.Hour)
		g.wantAsked(7)
		var after []time.Duration
		for i, at := range g.asked {
			if i > 0 {
				after = append(after, at.Sub(began))
			}
			began = at
		}
		if !slices.Equal(after, []time.Duration{10 * time.Minute, 30 * time.Minute, time.Hour, time.Hour, time.Hour, time.Hour}) {
			t.Errorf("repeated after %v", after)
		}
		if n := strings.Count(g.log.String(), "no route"); n != 7 {
			t.Errorf("the reason is in the log %d times: %s", n, &g.log)
		}
		g.names(newer(1))
		time.Sleep(time.Hour + time.Second)
		g.wantAsked(8)
		g.wantCurrent(newer(1), Fetched)
		time.Sleep(24 * time.Hour)
		g.wantAsked(8)
	})
}

func TestRefusalWithinTenMinutesWaits(t *testing.T) {
	inBubble(t, Auto, func(g *rig) {
		g.learns(newer(1))
		g.names(newer(2))
		if known, asked := g.refuse(2); known || asked {
			t.Errorf("known %t, asked %t", known, asked)
		}
		time.Sleep(9 * time.Minute)
		g.reboot() // forgets neither the last question nor the next
		g.wantCurrent(newer(1), Stored)
		g.refuse(1)
		time.Sleep(30 * time.Second)
		g.wantAsked(1)
		time.Sleep(time.Minute)
		g.wantAsked(2)
		if gap := g.asked[1].Sub(g.asked[0]); gap != 10*time.Minute {
			t.Errorf("asked again after %v", gap)
		}
		g.wantCurrent(newer(2), Fetched)
	})
}

func TestRefusalAfterTenMinutesAsksAtOnce(t *testing.T) {
	inBubble(t, Auto, func(g *rig) {
		g.refuse(1)
		time.Sleep(15 * time.Minute) // two questions; the next is due in 25
		g.wantAsked(2)
		time.Sleep(10 * time.Minute)
		if _, asked := g.refuse(1); !asked {
			t.Error("not asked at once")
		}
		g.wantAsked(3)
		time.Sleep(59 * time.Minute)
		g.wantAsked(3)
	})
}

func TestImplausibleVersionsAreRejected(t *testing.T) {
	current := whatsapp.BuiltinVersion()
	for reason, answer := range map[string]whatsapp.Version{
		"older than":       {current[0], current[1], current[2] - 1},
		"another kind":     {current[0] + 1, current[1], current[2] + 1},
		"another kind ":    {current[0], current[1] + 1, current[2] + 1},
		"another kind  ":   {},
		"which it rejects": current,
	} {
		inBubble(t, Auto, func(g *rig) {
			g.learns(answer)
			g.wantAsked(1)
			g.wantCurrent(current, Builtin)
			if !slices.Equal(g.ended, []bool{false}) || !strings.Contains(g.log.String(), strings.TrimSpace(reason)) {
				t.Errorf("%v: ended %v, logged %s", answer, g.ended, &g.log)
			}
			g.reboot()
			g.wantCurrent(current, Builtin)
		})
	}
}

func TestNoRequestWithoutRefusedInstances(t *testing.T) {
	inBubble(t, Auto, func(g *rig) {
		g.refuse(1)
		g.wantAsked(1)
		g.mu.Lock()
		g.refused = nil
		g.mu.Unlock()
		time.Sleep(24 * time.Hour)
		g.wantAsked(1)
		g.reboot()
		time.Sleep(24 * time.Hour)
		g.wantAsked(1)
		if _, asked := g.refuse(1); !asked {
			t.Error("the next refusal is not asked about")
		}
	})
}

func TestRetriesRotateAmongRefusedInstances(t *testing.T) {
	inBubble(t, Auto, func(g *rig) {
		g.refused = []int64{3, 4, 5}
		g.refuse(3)
		time.Sleep(2 * time.Hour)
		g.wantAsked(4)
		if !slices.Equal(g.through, []int64{3, 4, 5, 3}) {
			t.Errorf("asked through %v", g.through)
		}
	})
}

func TestRetryForAnotherVersionIsDropped(t *testing.T) {
	inBubble(t, Auto, func(g *rig) {
		old := state{Refused: "2.3000.1000", AskedAt: time.Now(), Failures: 3, Due: time.Now().Add(time.Minute)}
		if err := old.save(g.s); err != nil {
			t.Fatal(err)
		}
		g.reboot()
		time.Sleep(24 * time.Hour)
		g.wantAsked(0)
		g.refuse(1)
		time.Sleep(11 * time.Minute)
		g.wantAsked(2) // 10 minutes, since these are the first that find nothing
	})
}

func TestClockSetBackDoesNotDelayRequests(t *testing.T) {
	inBubble(t, Auto, func(g *rig) {
		future := time.Now().Add(1000 * time.Hour)
		st := state{Refused: whatsapp.BuiltinVersion().String(), AskedAt: future, Failures: 1, Due: future.Add(10 * time.Minute)}
		if err := st.save(g.s); err != nil {
			t.Fatal(err)
		}
		g.reboot()
		g.refuse(1)
		g.wantAsked(0)
		time.Sleep(11 * time.Minute)
		g.wantAsked(1)
	})
}

func TestFixedVersionIsNeverRefreshed(t *testing.T) {
	for _, setting := range []string{BuiltinOnly, "2.3000.7"} {
		inBubble(t, setting, func(g *rig) {
			for range 50 {
				if known, asked := g.refuse(1); known || asked {
					t.Errorf("known %t, asked %t", known, asked)
				}
			}
			time.Sleep(24 * time.Hour)
			g.wantAsked(0)
			if n := strings.Count(g.log.String(), "set whatsapp.version to"); n != 1 || !strings.Contains(g.log.String(), "setting="+setting) {
				t.Errorf("advised %d times: %s", n, &g.log)
			}
			g.refuse(1)
			if n := strings.Count(g.log.String(), "set whatsapp.version to"); n != 2 {
				t.Errorf("advised %d times after a day", n)
			}
		})
	}
}

func TestAfterAStopNothingIsAsked(t *testing.T) {
	inBubble(t, Auto, func(g *rig) {
		if err := g.r.Stop(bg); err != nil {
			t.Fatal(err)
		}
		if known, asked := g.refuse(1); known || asked {
			t.Errorf("known %t, asked %t", known, asked)
		}
		g.wantAsked(0)
	})
}

func TestASettingIsAutoBuiltinOrAVersion(t *testing.T) {
	for _, text := range []string{Auto, BuiltinOnly, "2.3000.1", "2.3000.4294967295"} {
		if err := CheckSetting(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "Auto", "latest", "2.3000", "2.3000.0", "2.3000.x", "3.3000.1", "2.3000.1 "} {
		if err := CheckSetting(text); err == nil || strings.Contains(err.Error(), text) && text != "" && text != "2.3000" {
			t.Errorf("%q: %v", text, err)
		}
	}
}
