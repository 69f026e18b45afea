package whatsapp

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"postern/event"
	"postern/sandbox"
)

// flagChange is one change of a group, in the form of the sandbox's act and of the
// event.
type flagChange struct{ act, reported string }

// toggles are changes of every flag of a group, each both ways and twice, mixed with
// others.
func toggles() (all []flagChange) {
	for round := range 2 {
		for _, on := range []bool{true, false} {
			mode, seconds := "admin_add", 0
			if on {
				mode, seconds = "all_member_add", 86400
			}
			subject := fmt.Sprintf("Bakers %d %t", round, on)
			all = append(all,
				flagChange{fmt.Sprintf(`"joinApproval":%t`, on), fmt.Sprintf("joinApprovalMode=%t", on)},
				flagChange{fmt.Sprintf(`"subject":%q`, subject), "subject=" + subject},
				flagChange{fmt.Sprintf(`"announce":%t`, on), fmt.Sprintf("announce=%t", on)},
				flagChange{fmt.Sprintf(`"locked":%t`, on), fmt.Sprintf("restrict=%t", on)},
				flagChange{fmt.Sprintf(`"memberAddMode":%q`, mode), fmt.Sprintf("memberAddMode=%t", on)},
				flagChange{fmt.Sprintf(`"ephemeralSeconds":%d`, seconds), fmt.Sprintf("ephemeralDuration=%d", seconds)},
			)
		}
	}
	return all
}

// saidOf returns every change in an event.
func saidOf(p event.GroupPartial) (said []string) {
	add := func(name string, v any) { said = append(said, fmt.Sprintf("%s=%v", name, v)) }
	flag := func(name string, v *bool) {
		if v != nil {
			add(name, *v)
		}
	}
	flag("joinApprovalMode", p.JoinApprovalMode)
	flag("announce", p.Announce)
	flag("restrict", p.Restrict)
	flag("memberAddMode", p.MemberAddMode)
	if p.EphemeralDuration != nil {
		add("ephemeralDuration", *p.EphemeralDuration)
	}
	if p.Subject != "" {
		add("subject", p.Subject)
	}
	return said
}

// flagsReported is what was reported of a group so far, in order.
func (r *rig) flagsReported(group string) (said []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.history {
		if u, ok := f.Data.([]event.GroupUpdate); ok && aboutGroup(f, group) {
			said = append(said, saidOf(u[0].Partial)...)
		}
	}
	return said
}

// ofBob is a group created and changed by another phone; the rig's account is a member.
func ofBob(t *testing.T) (r *rig, own, bob *sandbox.Phone, group string) {
	t.Helper()
	r = newRig(t)
	own, bob = r.pair(), r.contact()
	r.acts(bob, `{"do":"group-create","subject":"Bakers","participants":["`+own.Number()+`"]}`)
	made := r.await("the group", func(f event.Fact) bool { return f.Kind == event.GroupsUpsert })
	return r, own, bob, made.Data.([]event.GroupUpsert)[0].ID
}

func (r *rig) toggle(by *sandbox.Phone, group string) (want []string) {
	r.t.Helper()
	for _, c := range toggles() {
		r.acts(by, `{"do":"group-update","group":"`+group+`",`+c.act+`}`)
		want = append(want, c.reported)
	}
	r.acts(by, `{"do":"group-update","group":"`+group+`","subject":"end"}`)
	return append(want, "subject=end")
}

func (r *rig) wantFlags(group string, want []string) {
	r.t.Helper()
	r.await("the last change", func(f event.Fact) bool {
		u, ok := f.Data.([]event.GroupUpdate)
		return ok && u[0].Partial.Subject == "end"
	})
	if got := r.flagsReported(group); !slices.Equal(got, want) {
		r.t.Errorf("reported\n%q\nwant\n%q", got, want)
	}
}

func TestGroupFlagsAreReportedAsChanged(t *testing.T) {
	r, _, bob, group := ofBob(t)
	r.wantFlags(group, r.toggle(bob, group))
}

func TestGroupFlagsChangedOfflineAreReported(t *testing.T) {
	r, _, bob, group := ofBob(t)
	r.stop()
	want := r.toggle(bob, group)
	r.start()
	r.connect()
	r.wantFlags(group, want)
}

func TestGroupFlagsNotStoredComeAgain(t *testing.T) {
	r, _, bob, group := ofBob(t)
	full, refused := errors.New("disk full"), 0
	r.mu.Lock()
	r.refuse = func(f event.Fact) error {
		if u, ok := f.Data.([]event.GroupUpdate); ok && u[0].Partial.JoinApprovalMode != nil && refused < 3 {
			refused++
			return full
		}
		return nil
	}
	r.mu.Unlock()
	r.wantFlags(group, r.toggle(bob, group))
	if refused != 3 {
		t.Errorf("refused %d times", refused)
	}
}
