package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"postern/event"
	"postern/instance"
)

// doer records the calls of an account's methods for groups, newsletters and labels, and returns err from them.
type doer struct {
	instance.Account

	asked   []string
	request string // the id of the call that pinned
	jpeg    []byte
	err     error
	files   map[string]string // by key id, of Download
	during  func()            // while it is asked; nil: nothing
}

func (d *doer) note(format string, args ...any) error {
	d.asked = append(d.asked, fmt.Sprintf(format, args...))
	if d.during != nil {
		d.during()
	}
	return d.err
}

func (d *doer) CreateGroup(_ context.Context, g event.NewGroup) (event.CreatedGroup, error) {
	made := event.CreatedGroup{NotAdded: []event.MemberResult{}}
	made.ID, made.Subject = "1-2@g.us", g.Subject
	return made, d.note("create %q %q %v", g.Subject, g.Description, g.Participants)
}

func (d *doer) Group(_ context.Context, group string) (event.GroupUpsert, error) {
	return event.GroupUpsert{ID: group}, d.note("show %s", group)
}

func (d *doer) JoinedGroups(context.Context) ([]event.GroupUpsert, error) {
	return []event.GroupUpsert{{ID: "1-2@g.us"}}, d.note("list groups")
}

func (d *doer) LeaveGroup(_ context.Context, group string) error { return d.note("leave %s", group) }

func (d *doer) ChangeMembers(_ context.Context, group string, action event.ParticipantAction, people []string) ([]event.MemberResult, error) {
	status := event.MemberChanged
	if action == event.ParticipantAdd {
		status = event.MemberPrivate
	}
	return []event.MemberResult{{JID: people[0], Status: status}}, d.note("%s %v in %s", action, people, group)
}

func (d *doer) SetSubject(_ context.Context, group, subject string) error {
	return d.note("subject %q of %s", subject, group)
}

func (d *doer) SetDescription(_ context.Context, group, description string) error {
	return d.note("description %q of %s", description, group)
}

func (d *doer) SetGroupPicture(_ context.Context, group string, jpeg []byte) (string, error) {
	d.jpeg = jpeg
	return "77", d.note("picture of %s, %t", group, len(jpeg) > 0)
}

func (d *doer) ChangeSettings(_ context.Context, group string, s event.GroupSettings) error {
	return d.note("settings of %s: %t %d", group, *s.Announce, *s.EphemeralDuration)
}

func (d *doer) InviteCode(_ context.Context, group string, reset bool) (string, error) {
	return "CODE", d.note("code of %s, %t", group, reset)
}

func (d *doer) InvitedGroup(_ context.Context, code string) (event.GroupUpsert, error) {
	return event.GroupUpsert{ID: "1-2@g.us"}, d.note("group of %s", code)
}

func (d *doer) JoinGroup(_ context.Context, code string) (string, bool, error) {
	return "1-2@g.us", false, d.note("join %s", code)
}

func (d *doer) JoinRequests(_ context.Context, group string) ([]event.JoinRequest, error) {
	return []event.JoinRequest{}, d.note("requests of %s", group)
}

func (d *doer) DecideRequests(_ context.Context, group string, approve bool, people []string) ([]event.MemberResult, error) {
	return []event.MemberResult{{JID: people[0], Status: event.MemberChanged}}, d.note("approve %t %v in %s", approve, people, group)
}

func (d *doer) FollowedChannels(context.Context) ([]event.Channel, error) {
	return []event.Channel{}, d.note("list newsletters")
}

func (d *doer) Channel(_ context.Context, channel string) (event.Channel, error) {
	return event.Channel{JID: channel}, d.note("show %s", channel)
}

func (d *doer) InvitedChannel(_ context.Context, code string) (event.Channel, error) {
	return event.Channel{JID: "9@newsletter"}, d.note("newsletter of %s", code)
}

func (d *doer) FollowChannel(_ context.Context, channel string, follow bool) error {
	return d.note("follow %s %t", channel, follow)
}

func (d *doer) MuteChannel(_ context.Context, channel string, muted bool) error {
	return d.note("mute %s %t", channel, muted)
}

func (d *doer) Labels(context.Context) ([]event.Label, error) {
	return []event.Label{{ID: "1"}}, d.note("list labels")
}

func (d *doer) CreateLabel(_ context.Context, name string, color int) (event.Label, error) {
	return event.Label{ID: "4", Name: name, Color: color}, d.note("create label %q %d", name, color)
}

func (d *doer) EditLabel(_ context.Context, id string, change event.LabelChange) (event.Label, error) {
	l := change.Apply(event.Label{ID: id, Name: "old", Color: 9})
	return l, d.note("label %s is %q %d", id, l.Name, l.Color)
}

func (d *doer) DeleteLabel(_ context.Context, id string) (event.Label, error) {
	return event.Label{ID: id, Name: "old"}, d.note("delete label %s", id)
}

func (d *doer) LabelChat(_ context.Context, label, chat string, labeled bool) error {
	return d.note("label %s on %s %t", label, chat, labeled)
}

func (d *doer) ResetAppState(context.Context) error { return d.note("reset the app state") }

// doing returns a rig with instance "a" online, whose account is a doer.
func doing(t *testing.T) (*rig, string, *doer) {
	t.Helper()
	r, token := online(t)
	d := &doer{}
	r.line.Account = d
	return r, token, d
}

// request is a request, the expected call of the account and the answer.
type request struct{ method, path, body, asked, answer string }

func (r *rig) asks(t *testing.T, token string, d *doer, rows []request) {
	t.Helper()
	for _, c := range rows {
		d.asked = nil
		res := r.as(token, c.method, c.path, c.body)
		raw, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode/100 != 2 || strings.TrimSpace(string(raw)) != c.answer {
			t.Errorf("%s %s: %d %s, want %s", c.method, c.path, res.StatusCode, raw, c.answer)
		}
		if (c.answer == "") != (res.StatusCode == http.StatusNoContent) {
			t.Errorf("%s %s: %d with the body %q", c.method, c.path, res.StatusCode, raw)
		}
		if strings.Join(d.asked, "; ") != c.asked {
			t.Errorf("%s %s asked %q, want %q", c.method, c.path, d.asked, c.asked)
		}
	}
}

// refusedCall is a request that is refused before the account is called.
type refusedCall struct {
	method, path, body string
	status             int
	code               string
	names              string // what the message has
}
