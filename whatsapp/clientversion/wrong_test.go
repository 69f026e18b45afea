package clientversion

import (
	"strings"
	"testing"
	"time"

	"postern/whatsapp"
)

// TestRejectedVersionIsDiscarded: a version that is far too high is newer than every
// right one.
func TestRejectedVersionIsDiscarded(t *testing.T) {
	inBubble(t, Auto, func(g *rig) {
		builtin, absurd := newer(0), newer(1_000_000_000)
		g.learns(absurd)
		g.wantCurrent(absurd, Fetched)
		g.reboot()
		g.wantCurrent(absurd, Stored)
		g.refuse(1)
		time.Sleep(11 * time.Minute) // it names the same again
		g.wantAsked(2)
		g.wantCurrent(absurd, Stored)
		for n, answer := range []whatsapp.Version{builtin, newer(7)} { // what was refused before is not taken either
			g.names(answer)
			time.Sleep([]time.Duration{10 * time.Minute, 30 * time.Minute}[n])
			g.wantAsked(3 + n)
		}
		g.wantCurrent(newer(7), Fetched)
		if known, _ := g.r.Outdated(2, absurd.String()); !known {
			t.Error("who was refused with the wrong one does not dial with the right one")
		}
		if n := strings.Count(g.log.String(), "which it rejects"); n != 2 {
			t.Errorf("logged %s", &g.log)
		}
	})
}

// TestAcceptedVersionBecomesKnown: when it is finally rejected, it is outdated, and
// lower ones are not accepted, also after restarts.
func TestAcceptedVersionBecomesKnown(t *testing.T) {
	inBubble(t, Auto, func(g *rig) {
		g.learns(newer(5))
		g.r.Taken(newer(4).String()) // of a connection from before: it says nothing of this one
		g.r.Taken(newer(5).String())
		time.Sleep(time.Second)
		g.reboot()
		g.wantCurrent(newer(5), Stored)
		time.Sleep(time.Hour)
		g.learns(newer(4))
		g.wantAsked(2)
		g.wantCurrent(newer(5), Stored)
	})
}

// TestLastAcceptedVersionAfterAWrongAnswer: it is not the built-in one.
func TestLastAcceptedVersionAfterAWrongAnswer(t *testing.T) {
	inBubble(t, Auto, func(g *rig) {
		g.learns(newer(5))
		g.r.Taken(newer(5).String())
		time.Sleep(time.Hour)
		g.learns(newer(1_000_000))
		for _, answer := range []whatsapp.Version{newer(4), newer(5), newer(6)} {
			g.wantCurrent(newer(1_000_000), Fetched)
			g.names(answer)
			g.refuse(1)
			time.Sleep(61 * time.Minute)
		}
		g.wantCurrent(newer(6), Fetched)
	})
}
