package moving

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/migrate/migratetest"
)

// settings returns those of the world's program for its commands.
func settings(w *rig.World) []string {
	return []string{
		"STORE_PATH=" + w.DataFile(), "AUTHENTICATION_GLOBAL_AUTH_TOKEN=" + w.Sec.GlobalAuthToken, "AUTHENTICATION_JWT_SECRET=" + w.Sec.JWTSecret,
	}
}

// takeOver runs `postern import` and wants that status.
func takeOver(w *rig.World, status int, args ...string) (output string) {
	w.T.Helper()
	have, output := rig.Program(w.T, w.Folder, settings(w), append([]string{"import"}, args...)...)
	if have != status {
		w.T.Fatalf("import %v: status %d, want %d:\n%s", args, have, status, output)
	}
	return output
}

// tokenOf returns the token of an instance, as the API shows it.
func tokenOf(w *rig.World, name string) string {
	w.T.Helper()
	var all []struct{ Auth struct{ Token string } }
	w.Call(consumer.Key(w.Sec.GlobalAuthToken), http.MethodGet, "/instance?instanceName="+name, nil, &all)
	if len(all) != 1 {
		w.T.Fatalf("%d instances are named %s", len(all), name)
	}
	return all[0].Auth.Token
}

// goesOn wants the chats of an account to continue in both directions, in the group
// too, every text read once, and none unreadable.
func goesOn(w *rig.World, c *chatting, name string) {
	w.T.Helper()
	t, token := w.T, tokenOf(w, name)
	w.AwaitOnline(name, token)
	send := func(to, text string) {
		t.Helper()
		w.Call(consumer.Bearer(token), http.MethodPost, "/instance/"+name+"/send/text", rig.TextTo(to, text, 0), nil)
	}
	for i := range 5 {
		text := fmt.Sprintf("new %d of %s", i, name)
		send(c.anne.Number(), text)
		gets(t, c.anne, text)
		if _, err := c.anne.SendText(t.Context(), c.own.JID(), "back: "+text); err != nil {
			t.Fatal(err)
		}
		reads(w, "back: "+text)
		text = fmt.Sprintf("team %d of %s", i, name)
		if i%2 == 0 { // the others first, and then the account first
			if _, err := c.bob.SendText(t.Context(), c.group, "back: "+text); err != nil {
				t.Fatal(err)
			}
			reads(w, "back: "+text)
		}
		send(c.group.String(), text)
		gets(t, c.anne, text)
		gets(t, c.bob, text)
	}
	if n := w.Seen("messages.undecryptable"); n != 0 {
		t.Errorf("%d messages could not be read", n)
	}
}

// TestImportedAccountKeepsChatting has two accounts in one store: paired
// and chatting in the old program, stopped, taken over from the file, from the text of
// sqlite3 and once with other names.
func TestImportedAccountKeepsChatting(t *testing.T) {
	if testing.Short() {
		t.Skip("starts several programs")
	}
	for how, from := range map[string]func(path string) string{
		"the file": func(path string) string { return path },
		"the text": func(path string) string { return migratetest.SQLiteDump(t, path) },
	} {
		t.Run(how, func(t *testing.T) {
			w := rig.NewWorld(t)
			w.Keep = true
			old := startOld(t, w.Sandbox, databasePath(t))
			first, second := old.chat(w, "4915155500001"), old.chat(w, "4915155500002")
			for _, c := range []*chatting{first, second} {
				c.client.Disconnect()
			}
			old.stop()

			report := takeOver(w, 0, "whatsmeow", "--from", from(old.path), "--name", first.client.Store.ID.ToNonAD().String()+"=shop")
			for _, want := range []string{
				"shop  " + first.client.Store.ID.String(), "4915155500002  " + second.client.Store.ID.String(), "sessions", "sender keys", "pre-keys", "pairs of LID and number",
				"2 accounts are imported. The old program must NEVER run again with these sessions",
			} {
				if !strings.Contains(report, want) {
					t.Errorf("the report does not say %q:\n%s", want, report)
				}
			}
			w.Start()
			goesOn(w, first, "shop")
			goesOn(w, second, "4915155500002")
			w.Stop()
			w.Start()
			goesOnAgain(w, first, "shop")
			w.Stop()
		})
	}
}

// reads waits until the program reports a text that came in.
func reads(w *rig.World, text string) {
	w.T.Helper()
	w.Await("reads "+text, func() bool {
		return slices.ContainsFunc(w.Webhooks(), func(h consumer.Webhook) bool {
			return h.Event == "messages.upsert" && strings.Contains(string(h.Body), `"`+text+`"`)
		})
	})
}

// goesOnAgain is a few texts after another start.
func goesOnAgain(w *rig.World, c *chatting, name string) {
	w.T.Helper()
	token := tokenOf(w, name)
	w.AwaitOnline(name, token)
	w.Call(consumer.Bearer(token), http.MethodPost, "/instance/"+name+"/send/text", rig.TextTo(c.anne.Number(), "after a start", 0), nil)
	gets(w.T, c.anne, "after a start")
}
