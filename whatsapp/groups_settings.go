package whatsapp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"

	"postern/event"
)

// setting is one change of a group's settings.
type setting struct {
	name string // its name in the API, and the part of the group
	do   func(context.Context, *whatsmeow.Client, types.JID) error
}

// ChangeSettings implements instance.Groups.
func (gs *Groups) ChangeSettings(ctx context.Context, group string, wanted event.GroupSettings) error {
	var done []string
	for _, one := range settingsOf(wanted) {
		err := gs.changeGroup(ctx, "change "+one.name, group, one.name, one.do)
		if err != nil && len(done) > 0 {
			return fmt.Errorf("already changed: %s; %w", strings.Join(done, ", "), err)
		}
		if err != nil {
			return err
		}
		done = append(done, one.name)
	}
	return nil
}

func settingsOf(s event.GroupSettings) []setting {
	var all []setting
	add := func(name string, given bool, do func(context.Context, *whatsmeow.Client, types.JID) error) {
		if given {
			all = append(all, setting{name, do})
		}
	}
	add(ephemeralPart, s.EphemeralDuration != nil, func(ctx context.Context, cli *whatsmeow.Client, g types.JID) error {
		return cli.SetDisappearingTimer(ctx, g, time.Duration(*s.EphemeralDuration)*time.Second, time.Time{})
	})
	add(announcePart, s.Announce != nil, func(ctx context.Context, cli *whatsmeow.Client, g types.JID) error {
		return cli.SetGroupAnnounce(ctx, g, *s.Announce)
	})
	add(restrictPart, s.Restrict != nil, func(ctx context.Context, cli *whatsmeow.Client, g types.JID) error {
		return cli.SetGroupLocked(ctx, g, *s.Restrict)
	})
	add(memberAddPart, s.MemberAddMode != nil, func(ctx context.Context, cli *whatsmeow.Client, g types.JID) error {
		mode := types.GroupMemberAddModeAdmin
		if *s.MemberAddMode {
			mode = types.GroupMemberAddModeAllMember
		}
		return cli.SetGroupMemberAddMode(ctx, g, mode)
	})
	add(approvalPart, s.JoinApprovalMode != nil, func(ctx context.Context, cli *whatsmeow.Client, g types.JID) error {
		return cli.SetGroupJoinApprovalMode(ctx, g, *s.JoinApprovalMode)
	})
	return all
}
