package events

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"postern/e2e/rig"
	"postern/event"
)

// TestKillsLoseNoGroupFlag toggles the approval mode of a group while the program
// runs, is killed and is away. Each toggle is stored with its own value, in order.
// The one that a kill interrupts may be stored twice: the acknowledgement is lost.
func TestKillsLoseNoGroupFlag(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills real processes")
	}
	t.Parallel() // it waits more than it works
	s := rig.NewScene(t)
	newStations(t, s, `"durable":true`)
	s.Online(t)
	s.Do(t, rig.Act("$anne", `{"do":"group-create","subject":"Bakers","participants":["$own"]}`).As("g"))
	var want []string
	toggle := func() {
		for _, on := range []bool{true, false, true, false} {
			subject := fmt.Sprint("Bakers ", len(want))
			act(s, rig.AnneNumber, s.Fill(fmt.Sprintf(`{"do":"group-update","group":"$g.group","joinApproval":%t}`, on)))
			act(s, rig.AnneNumber, s.Fill(fmt.Sprintf(`{"do":"group-update","group":"$g.group","subject":%q}`, subject)))
			want = append(want, fmt.Sprint(on), subject)
		}
	}
	for range 3 {
		toggle()
		s.Kill()
		toggle()
		s.Start()
		s.Online(t)
	}
	reported := slices.Compact(groupChanges(t, settled(t, s)))
	if !slices.Equal(reported, want) {
		t.Errorf("reported\n%q\nwant\n%q", reported, want)
	}
	s.Stop()
}

// groupChanges returns the approval modes and subjects that events speak of.
func groupChanges(t *testing.T, bodies []string) (said []string) {
	t.Helper()
	for _, body := range bodies {
		var e struct {
			Event string
			Data  []event.GroupUpdate
		}
		if json.Unmarshal([]byte(body), &e) != nil || e.Event != string(event.GroupsUpdate) {
			continue
		}
		if mode := e.Data[0].Partial.JoinApprovalMode; mode != nil {
			said = append(said, fmt.Sprint(*mode))
		}
		if subject := e.Data[0].Partial.Subject; subject != "" {
			said = append(said, subject)
		}
	}
	return said
}
