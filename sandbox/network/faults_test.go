package network

import (
	"testing"
	"time"

	"go.mau.fi/whatsmeow/types"
)

func TestHealingIncludesAccountFaults(t *testing.T) {
	s := rigServer(t)
	of := types.NewJID("5511911111111", types.DefaultUserServer)
	for what, harm := range map[string]func() error{
		"faults":        func() error { s.SetFaults(Faults{SwallowPings: true}); return nil },
		"refused login": func() error { return s.RefuseNext(of, Refusal{Reason: 405}) },
		"old clients":   func() error { s.RequireVersion([3]uint32{2, 3000, 1}); return nil },
		"site":          func() error { s.SetSite(SiteNone); return nil },
		"deaf":          func() error { return s.Deafen(of, time.Hour) },
		"broken link":   func() error { return s.BreakPairing(of, BrokenHMAC) },
		"conflicts":     func() error { return s.ConflictState(of, 3) },
	} {
		if err := harm(); err != nil || s.Healthy() {
			t.Errorf("%s: healthy %v, %v", what, s.Healthy(), err)
		}
		if s.Heal(); !s.Healthy() {
			t.Errorf("%s is left", what)
		}
	}
}
