package sandbox

import (
	"strings"
	"testing"
)

// TestHelpListsEveryActWithItsFields also holds each field to
// have a description.
func TestHelpListsEveryActWithItsFields(t *testing.T) {
	var page strings.Builder
	if err := WriteHelp(&page); err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq(`text image receipt presence chat-presence call-offer call-terminate group-create
		group-join group-update group-participants picture about identity-change push-name business-name contact archive pin
		mute star mark-read clear-chat delete-chat delete-for-me label-edit label-chat label-message unarchive-setting
		push-name-setting status-mute blocklist newsletter-join newsletter-leave newsletter-mute newsletter-live-update
		history-sync media-retry undecryptable privacy offline-preview reachout-timelock temp-ban client-outdated
		stream-replaced stream-error connect-failure cat-refresh-error keepalive-timeout drop logout`) {
		if !strings.Contains(page.String(), "\n  "+name+" ") {
			t.Errorf("the help does not name %s", name)
		}
	}
	seen := map[string]bool{}
	for _, a := range acts() {
		if seen[a.Do] {
			t.Errorf("%s is two acts", a.Do)
		}
		seen[a.Do] = true
		if a.Does == "" {
			t.Errorf("%s does nothing that is notified", a.Do)
		}
		for field, help := range a.Fields {
			if field == "" || help == "" || !strings.Contains(page.String(), "\n      "+field+" ") {
				t.Errorf("%s: field %q is not described", a.Do, field)
			}
		}
	}
}
