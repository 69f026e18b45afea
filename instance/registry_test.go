package instance

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"postern/event"
	"postern/instance/webhooks"
)

func TestInstanceNameRules(t *testing.T) {
	for name, valid := range map[string]bool{
		"a": true, "A-Z_0.9": true, "-a": true, "_": true, "0": true, "a.": true, strings.Repeat("n", 255): true, "Create": true, "creates": true,
		".a": false, ".": false, "": false, "a b": false, "ä": false, "a/b": false, "a\n": false, "a%20b": false, strings.Repeat("n", 256): false,
		"create": false, "fetchInstances": false, "fetchInstance": false, "delete": false, "refreshToken": false, "connect": false,
		"connectionState": false, "logout": false, "events": false,
	} {
		err := CheckName(name)
		var rule *event.RuleError
		if valid != (err == nil) || !valid && (!errors.Is(err, ErrInvalid) || !errors.As(err, &rule) || rule.Field != "instanceName") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestDescriptionAndAttributeRules(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	attributes := func(n int) []byte { return []byte(`{"a":"` + strings.Repeat("x", n-8) + `"}`) }
	for field, c := range map[string]struct{ good, bad New }{
		"description":        {New{Description: strings.Repeat("é", 255)}, New{Description: strings.Repeat("é", 256)}},
		"externalAttributes": {New{ExternalAttributes: attributes(64 << 10)}, New{ExternalAttributes: attributes(64<<10 + 1)}},
	} {
		c.good.Mint, c.bad.Mint = mint, mint
		if _, err := r.reg.Create(bg, c.good); err != nil {
			t.Errorf("%s at its limit: %v", field, err)
		}
		var rule *event.RuleError
		if _, err := r.reg.Create(bg, c.bad); !errors.As(err, &rule) || rule.Field != field {
			t.Errorf("%s over its limit: %v", field, err)
		}
	}
	for _, bad := range []string{`[1]`, `"x"`, `{`, `null`, `7`} {
		if _, err := r.reg.Create(bg, New{ExternalAttributes: []byte(bad), Mint: mint}); !errors.Is(err, ErrInvalid) {
			t.Errorf("attributes %s: %v", bad, err)
		}
	}
}

func TestNewInstanceDefaults(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	rec, err := r.reg.Create(bg, New{Mint: mint})
	if err != nil || !strings.HasPrefix(rec.Name, "instance-") || len(rec.Name) != len("instance-")+36 {
		t.Fatalf("%+v, %v", rec, err)
	}
	if rec.ID != 1 || rec.Status != event.Offline || rec.Token.Value != "token of "+rec.Name || rec.OwnerJID != "" || rec.CreatedAt.IsZero() || rec.CreatedAt != rec.UpdatedAt {
		t.Errorf("%+v", rec)
	}
	if got, err := r.reg.ByName(rec.Name); err != nil || got.ID != rec.ID {
		t.Error(got, err)
	}
	r.reboot()
	if got := r.record(rec.ID); got.Name != rec.Name || got.Token != rec.Token || got.CreatedAt != rec.CreatedAt {
		t.Errorf("after a restart:\n got %+v\nwant %+v", got, rec)
	}
}

func TestDuplicateNameReturnsErrExists(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	results := make(chan error)
	for range 8 {
		go func() {
			_, err := r.reg.Create(bg, New{Name: "same", Mint: mint})
			results <- err
		}()
	}
	made := 0
	for range 8 {
		switch err := <-results; {
		case err == nil:
			made++
		case !errors.Is(err, ErrExists):
			t.Error(err)
		}
	}
	if made != 1 || len(r.reg.List()) != 1 {
		t.Errorf("%d were made, %d are listed", made, len(r.reg.List()))
	}
}

func TestIdsCountFrom1AndAreNeverReused(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	first, second := r.create("a"), r.create("b")
	if first.ID != 1 || second.ID != 2 {
		t.Fatal(first.ID, second.ID)
	}
	if err := r.reg.Delete(bg, second.ID, false); err != nil {
		t.Fatal(err)
	}
	r.reboot()
	if again := r.create("b"); again.ID != 3 {
		t.Errorf("id %d", again.ID)
	}
}

func TestOneOfTwoTokenRenewalsWins(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	rec := r.create("a")
	next, err := r.reg.SetToken(bg, rec.ID, rec.Token.Value, "second")
	if err != nil || next.Token.Value != "second" || next.Token.CreatedAt != rec.Token.CreatedAt || next.Token.UpdatedAt.IsZero() {
		t.Fatalf("%+v, %v", next.Token, err)
	}
	if _, err := r.reg.SetToken(bg, rec.ID, rec.Token.Value, "third"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a renewal with the former token: %v", err)
	}
	if _, err := r.reg.SetToken(bg, rec.ID, "", "fourth"); err != nil { // the operator needs no old one
		t.Error(err)
	}
	r.reboot()
	if got := r.record(rec.ID).Token.Value; got != "fourth" {
		t.Errorf("token %q", got)
	}
	if _, err := r.reg.SetToken(bg, 9, "", "x"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

func TestDamagedRecordIsSkipped(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	good := r.create("good")
	if _, err := r.reg.Create(bg, New{Name: "bad", Description: "damage-this-one", Mint: mint}); err != nil {
		t.Fatal(err)
	}
	hooked := r.create("hooked")
	r.hook(hooked.ID, "http://example.com/damage-this-hook", "messagesUpsert")
	r.damage("damage-this-one")
	r.damage("damage-this-hook")
	if _, err := r.reg.ByName("bad"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the damaged one: %v", err)
	}
	if got := r.record(good.ID); got.Name != "good" {
		t.Errorf("%+v", got)
	}
	if _, err := r.reg.Webhooks().Webhook(hooked.ID); !errors.Is(err, webhooks.ErrNoWebhook) {
		t.Errorf("the damaged webhook: %v", err)
	}
	r.hook(hooked.ID, "http://example.com/new")
	if _, err := r.reg.Create(bg, New{Name: "bad", Mint: mint}); !errors.Is(err, ErrExists) {
		t.Errorf("the name of a damaged instance stays taken, for a backup may bring it back: %v", err)
	}
}

func Test1000InstancesWithWebhooksLoad(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	done := make(chan int64)
	for i := range 1000 {
		go func() {
			rec, err := r.reg.Create(bg, New{Name: fmt.Sprint("i", i), Mint: mint})
			if err != nil {
				t.Error(err)
			} else {
				r.hook(rec.ID, "http://example.com/"+rec.Name, "sendMessage")
			}
			done <- rec.ID
		}()
	}
	ids := map[int64]bool{}
	for range 1000 {
		ids[<-done] = true
	}
	r.reboot()
	list := r.reg.List()
	if len(list) != 1000 || len(ids) != 1000 {
		t.Fatalf("%d listed, %d ids", len(list), len(ids))
	}
	var listed []int64
	for _, rec := range list {
		listed = append(listed, rec.ID)
		if hook, err := r.reg.Webhooks().Webhook(rec.ID); err != nil || hook.URL != "http://example.com/"+rec.Name {
			t.Fatal(hook, err)
		}
	}
	if !slices.Equal(listed, slices.Sorted(maps.Keys(ids))) {
		t.Error("the list is not ordered by id")
	}
}

func TestDeleteRemovesExactlyTheInstance(t *testing.T) {
	var forgotten []int64
	r := newRig(t, func(c *Config) { c.Forget = forget(&forgotten) }, nil)
	defer r.stop()
	gone, stays := r.create("gone").ID, r.create("stays").ID
	for _, id := range []int64{gone, stays} {
		r.hook(id, "http://example.com", "sendMessage")
		r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("K", "1@s.whatsapp.net", true)})
		r.report(id, event.Fact{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: []string{"K"}, Status: event.StatusRead}})
		r.report(id, event.Fact{Kind: event.ContactsUpsert, Data: met(annPhone, "", "Ann")})
	}
	if err := r.reg.Delete(bg, gone, false); !errors.Is(err, ErrHasData) || r.count(instances, gone) != 1 {
		t.Fatalf("without force: %v", err)
	}
	before := r.s.Stats().Commits
	if err := r.reg.Delete(bg, gone, true); err != nil {
		t.Fatal(err)
	}
	if n := r.s.Stats().Commits - before; n != 1 {
		t.Errorf("the deletion took %d commits, want one", n)
	}
	if len(forgotten) == 0 || forgotten[0] != gone {
		t.Errorf("the connector was asked to forget %v", forgotten)
	}
	for _, bucket := range []string{instances, "webhook", "message", "message_key", "message_chat", "message_update", "contact", "contact_jid"} {
		if r.count(bucket, gone) != 0 || r.count(bucket, stays) != 1 {
			t.Errorf("%s: %d records of the deleted, %d of the other", bucket, r.count(bucket, gone), r.count(bucket, stays))
		}
	}
	if err := r.reg.Report(bg, gone, connection(event.TypeConnected, event.ConnectionOpen, event.Online)); !errors.Is(err, ErrNotFound) {
		t.Errorf("a late fact: %v", err)
	}
	if err := r.reg.Delete(bg, gone, true); !errors.Is(err, ErrNotFound) {
		t.Errorf("a second time: %v", err)
	}
	r.create("gone") // the name is free
}
