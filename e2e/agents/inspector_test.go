package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/e2e/rig"
	"postern/sandbox"
)

// inspector is the reference client of the protocol, from npm.
const inspector = "@modelcontextprotocol/inspector@2.12.0"

// inspect runs its command line, with a home of its own.
func inspect(t *testing.T, folder, program string, args ...string) (output, complaints string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "HOME="+folder)
	if os.Getenv("npm_config_cache") == "" {
		if home, err := os.UserHomeDir(); err == nil {
			cmd.Env = append(cmd.Env, "npm_config_cache="+filepath.Join(home, ".npm"))
		}
	}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	return out.String(), errOut.String(), err
}

func TestTheReferenceInspectorUsesIt(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	if _, err := exec.LookPath("npx"); err != nil {
		t.Skip("npx is not there: the reference inspector comes from npm")
	}
	folder := t.TempDir()
	// Where npx, with npm's usual cache, has it: each call through npx takes twice as long.
	found, said, err := inspect(t, folder, "npx", "--yes", "--package="+inspector, "-c", "command -v mcp-inspector")
	if err != nil {
		t.Skipf("the inspector cannot be had from the registry of npm: %v\n%s", err, said)
	}
	program := strings.TrimSpace(found)
	o := newOffice(t)
	key, _ := o.key(t, []string{"read", "media", "send", "batch"}, nil)
	reader, _ := o.key(t, []string{"read"}, nil)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for way, to := range map[string]func(key string) []string{
		"HTTP": func(key string) []string {
			return []string{o.API.Base + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + key}
		},
		"stdio": func(key string) []string {
			return []string{self, "mcp", "--url", o.API.Base, "-e", rig.AsProgram + "=1", "-e", "POSTERN_KEY=" + key}
		},
	} {
		asks := func(key string, args ...string) string {
			t.Helper()
			out, said, err := inspect(t, folder, program, slices.Concat([]string{"--cli"}, to(key), args)...)
			if err != nil {
				t.Fatalf("%s: %v: %v\n%s\n%s", way, args, err, said, out)
			}
			return out
		}
		var list struct{ Tools []struct{ Name string } }
		if err := json.Unmarshal([]byte(asks(key, "--method", "tools/list", "--strict")), &list); err != nil || len(list.Tools) != 10 {
			t.Errorf("%s: %v %+v", way, err, list)
		}
		if out := asks(reader, "--method", "tools/list"); strings.Contains(out, `"name": "send_message"`) || !strings.Contains(out, `"name": "find_chats"`) {
			t.Errorf("%s: a key that may read is shown %s", way, out)
		}
		anne, _ := o.Sandbox.Phone(rig.AnneNumber)
		text := "from the inspector by " + way
		if out := asks(key, "--method", "tools/call", "--tool-name", "send_message", "--tool-args-json", `{"instance":"shop","to":"`+rig.AnneNumber+`","text":"`+text+`"}`); strings.Contains(out, `"isError": true`) {
			t.Errorf("%s: %s", way, out)
		}
		if !slices.ContainsFunc(anne.Received(), func(r sandbox.Received) bool { return r.Message.GetConversation() == text }) {
			t.Errorf("%s: Anne's phone does not have the message", way)
		}
		if out := asks(key, "--method", "tools/call", "--tool-name", "read_messages", "--tool-args-json", `{"instance":"shop","chat":"`+rig.AnneNumber+`"}`); !strings.Contains(out, text) || !strings.Contains(out, "untrustedText") {
			t.Errorf("%s: %s", way, out)
		}
		if out := asks(key, "--method", "resources/list"); !strings.Contains(out, "postern://instance/shop/chats") {
			t.Errorf("%s: %s", way, out)
		}
		if out := asks(key, "--method", "resources/templates/list"); !strings.Contains(out, "postern://instance/{name}/chat/{jid}") {
			t.Errorf("%s: %s", way, out)
		}
		if out := asks(key, "--method", "resources/read", "--uri", "postern://instance/shop/chat/"+rig.AnneNumber+"%40s.whatsapp.net"); !strings.Contains(out, text) {
			t.Errorf("%s: %s", way, out)
		}
	}
}
