// Package backup tests backups and restores of the whole program: what comes back, and
// that it is safe to send with.
package backup

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/types"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
	"postern/internal/nightly"
	"postern/sandbox"
)

// chatting is a scene in which everyone writes to everyone.
type chatting struct {
	*rig.SendScene
	own, anne, bob *sandbox.Phone
	group          types.JID
	sent           []string // by the instance to Anne
	inGroup        []string // by the instance
	got            []string // by Anne and Bob, alone and in the group

	reported map[string]bool // texts to the account, by the webhooks that were looked at
	seen     int             // how many these are
}

func newChatting(t *testing.T, env ...string) *chatting {
	c := &chatting{SendScene: rig.NewSendScene(t, env...), reported: map[string]bool{}}
	for number, p := range map[string]**sandbox.Phone{rig.OwnNumber: &c.own, rig.AnneNumber: &c.anne, rig.BobNumber: &c.bob} {
		*p, _ = c.Sandbox.Phone(number)
	}
	c.Do(t, rig.Act("$own", `{"do":"group-create","subject":"All","participants":["$anne","$bob"]}`).As("all"))
	group, err := types.ParseJID(c.Vars["all.group"])
	if err != nil {
		t.Fatal(err)
	}
	c.group = group
	c.Do(t, rig.Route(http.MethodPut, "/instance/$name/webhook", `{"url":"$hook","events":{"messagesUpsert":true}}`))
	return c
}

// chat has n texts sent each way, some of them in the group. live tells that the program
// runs and sends, too.
func (c *chatting) chat(t *testing.T, when string, n int, live bool) {
	t.Helper()
	ctx := context.Background()
	for i := range n {
		text := fmt.Sprintf("%s %d", when, i)
		if live {
			path, body := "/instance/$name/send/text", fmt.Sprintf(`{"number":"$anne","textMessage":{"text":%q}}`, text)
			list := &c.sent
			if i%5 == 4 {
				body, list = fmt.Sprintf(`{"chat":"$all.group","textMessage":{"text":%q}}`, text), &c.inGroup
			}
			if a := c.PostJSON(t, c.Fill(path), body); a.Status != http.StatusOK {
				t.Fatalf("%s: %d %s", text, a.Status, a.Body)
			}
			*list = append(*list, text)
		}
		answer := "answer to " + text
		to, from := c.own.JID(), c.anne
		if i%5 == 3 {
			to, from = c.group, c.bob
		}
		if _, err := from.SendText(ctx, to, answer); err != nil {
			t.Fatal(err)
		}
		c.got = append(c.got, answer)
	}
}

// everythingIsRead waits until every text of both sides was read, once by the phones.
func (c *chatting) everythingIsRead(t *testing.T) {
	t.Helper()
	at := func(number string, texts []string) {
		t.Helper()
		for _, text := range texts {
			c.Await(fmt.Sprintf("%q at %s", text, number), func() bool { return c.Decrypted(number, text) > 0 })
			if n := c.Decrypted(number, text); n != 1 {
				t.Errorf("%s read %q %d times", number, text, n)
			}
		}
	}
	at(rig.AnneNumber, c.sent)
	at(rig.AnneNumber, c.inGroup)
	at(rig.BobNumber, c.inGroup)
	c.Await("all texts to the account", func() bool { return len(c.missing()) == 0 })
	for _, p := range []*sandbox.Phone{c.anne, c.bob, c.own} {
		keys, err := p.Keys()
		if err != nil {
			t.Fatal(err)
		}
		if n := keys.Reused(); n > 0 {
			t.Errorf("%s met %d messages with the key of another", p.Number(), n)
		}
	}
}

// missing returns the texts to the account that no webhook reported.
func (c *chatting) missing() (texts []string) {
	all := c.Webhooks()
	for _, w := range all[c.seen:] {
		var e struct {
			Data struct{ Content struct{ Text string } }
		}
		if w.Event == string(event.MessagesUpsert) && json.Unmarshal(w.Body, &e) == nil {
			c.reported[e.Data.Content.Text] = true
		}
	}
	c.seen = len(all)
	for _, text := range c.got {
		if !c.reported[text] {
			texts = append(texts, text)
		}
	}
	return texts
}

// postern runs a command as an operator would, in the folder of the program.
func (c *chatting) postern(t *testing.T, want int, args ...string) string {
	t.Helper()
	return rig.Beside(t, c.World).Says(want, "", args...)
}

// TestRestoredAccountUsesNoKeyTwice makes a backup in the middle of
// a chat, continues for some hundred messages each way, kills the program, restores, and continues
// for as many: with people and in a group, with messages that come while nothing runs.
func TestRestoredAccountUsesNoKeyTwice(t *testing.T) {
	more := nightly.Or(120, 500)
	c := newChatting(t)
	c.chat(t, "before", 20, true)
	c.everythingIsRead(t)
	file := filepath.Join(t.TempDir(), "b.tar")
	if said := c.postern(t, 0, "backup", file); !strings.Contains(said, "1 instance") {
		t.Errorf("backup said %q", said)
	}

	c.chat(t, "unknown to the backup", more, true)
	c.everythingIsRead(t)
	c.Kill()
	c.chat(t, "while nothing runs", 10, false)
	said := c.postern(t, 0, "restore", "--force", "--yes", file)
	if !strings.Contains(said, "1 paired account goes on") {
		t.Errorf("restore said %q", said)
	}
	c.Start()
	c.AwaitOnline(rig.SceneName, c.Token)
	began := time.Now()
	c.chat(t, "after the restore", more, true)
	c.everythingIsRead(t)
	t.Logf("%d messages each way took %v after the restore", more, time.Since(began).Round(time.Second))

	c.Stop()
	c.Start() // what the restore left is no mark for ever
	c.AwaitOnline(rig.SceneName, c.Token)
	c.chat(t, "after another start", 20, true)
	c.everythingIsRead(t)
	c.Stop()
}

// TestRestoredUnlinkedAccountIsLoggedOut, and can be
// paired again.
func TestRestoredUnlinkedAccountIsLoggedOut(t *testing.T) {
	c := newChatting(t)
	c.chat(t, "before", 5, true)
	c.everythingIsRead(t)
	file := filepath.Join(t.TempDir(), "b.tar")
	c.postern(t, 0, "backup", file)
	loggedOut := func() bool { return c.status("shop").ConnectionStatus == "LOGGED_OUT" }
	c.Do(t, rig.Act("$own", `{"do":"logout"}`))
	c.Await("the phone's word", loggedOut)
	c.Kill()
	c.postern(t, 0, "restore", "--force", "--yes", file)
	c.Start()
	c.Await("the restored login to be refused", loggedOut)
	var connect struct{ Code string }
	c.Call(consumer.Bearer(c.Token), http.MethodGet, "/instance/shop/connect", nil, &connect)
	if connect.Code == "" {
		t.Error("it cannot be paired again")
	}
	c.Stop()
}
