package translate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"
)

// TestStoredContentBecomesTheMessageItCameFrom rebuilds and normalises the golden files
// of normalise; the result must be equal. Messenger messages have another schema, and
// cannot be sent from here.
func TestStoredContentBecomesTheMessageItCameFrom(t *testing.T) {
	goldens, err := filepath.Glob(filepath.Join("testdata", "content", "*.json"))
	if err != nil || len(goldens) < 80 {
		t.Fatalf("%d golden files, %v", len(goldens), err)
	}
	for _, path := range goldens {
		if strings.HasPrefix(filepath.Base(path), "fb") {
			continue
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var stored struct {
			MessageType string          `json:"messageType"`
			Content     json.RawMessage `json:"content"`
		}
		if err := json.Unmarshal(raw, &stored); err != nil || stored.MessageType == "" {
			t.Fatalf("%s: %v", path, err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			m, err := Rebuild(stored.MessageType, stored.Content)
			if err != nil {
				t.Fatal(err)
			}
			name, content, ok := normalise(m)
			if want := compactJSON(t, stored.Content); !ok || name != stored.MessageType || compactJSON(t, content) != want {
				t.Errorf("became %s\n got %s\nwant %s", name, content, want)
			}
		})
	}
}

func compactJSON(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestInvalidContentIsNotRebuilt(t *testing.T) {
	for _, c := range []struct{ kind, content string }{
		{"conversation", `[]`},
		{"conversation", `{"text":5}`},
		{"noSuchMessage", `{}`},
		{"", `{}`},
		{"messageContextInfo", `{}`}, // rides along, and is never content
		{"imageMessage", `{"fileLength":"many"}`},
		{"imageMessage", `{"mediaKey":"%%"}`},
		{"imageMessage", `{"width":-1}`},
		{"locationMessage", `{"degreesLatitude":"north"}`},
		{"unknown", `{"protobuf":"%%"}`},
	} {
		if m, err := Rebuild(c.kind, json.RawMessage(c.content)); err == nil {
			t.Errorf("%s %s became %v", c.kind, c.content, m)
		}
	}
}

// FuzzRebuild: no stored or quoted content causes a panic, and a rebuilt message can be
// sent.
func FuzzRebuild(f *testing.F) {
	f.Add("conversation", []byte(`{"text":"a"}`))
	f.Add("imageMessage", []byte(`{"url":"u","fileLength":"12","width":3,"contextInfo":{"quotedMessage":{"conversation":"x"},"mentionedJid":["a"]}}`))
	f.Add("pollCreationMessage", []byte(`{"name":"n","options":[{"optionName":"a"}]}`))
	f.Add("unknown", []byte(`{"protobuf":"CgFh"}`))
	f.Fuzz(func(t *testing.T, kind string, content []byte) {
		m, err := Rebuild(kind, content)
		if err != nil {
			return
		}
		if _, err := proto.Marshal(m); err != nil && !strings.Contains(err.Error(), "UTF-8") {
			t.Error(err)
		}
		_, _ = WithContext(m, &waE2E.ContextInfo{IsForwarded: new(true)})
		normalise(m)
	})
}
