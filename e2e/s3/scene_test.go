package s3

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// scene is a program that is online and keeps files at a server.
type scene struct {
	*rig.SendScene
	s3 *server
}

func newScene(t *testing.T, env ...string) *scene {
	t.Helper()
	s := newServer(t)
	return &scene{rig.NewSendScene(t, append(s.environment(), env...)...), s}
}

type record struct {
	MessageID            int64
	KeyID, State, Reason string
	Size                 int64
	SHA256               string
}

func (s *scene) records() []record {
	var list struct{ Records []record }
	s.Call(consumer.Bearer(s.Token), http.MethodGet, "/instance/shop/media/files?limit=200", nil, &list)
	return list.Records
}

func (s *scene) record(key string) record {
	for _, r := range s.records() {
		if r.KeyID == key {
			return r
		}
	}
	return record{}
}

// receive lets Anne send a document, and waits for its event.
func (s *scene) receive(t *testing.T, key string, content []byte) {
	t.Helper()
	act, _ := json.Marshal(map[string]string{"do": "media", "to": rig.OwnNumber, "kind": "document", "fileName": key + ".bin", "data": base64.StdEncoding.EncodeToString(content), "id": key})
	s.Do(t, rig.Act("$anne", string(act)))
	s.AwaitEvent(t, 0, event.MessagesUpsert, fmt.Sprintf(`{"keyId":%q}`, key))
}

func (s *scene) await(key, state, reason string) (r record) {
	s.T.Helper()
	s.Await(fmt.Sprintf("%s is %s %s", key, state, reason), func() bool {
		r = s.record(key)
		return r.State == state && r.Reason == reason
	})
	return r
}

// get fetches a file from the program; one that waits is kept by that.
func (s *scene) get(t *testing.T, id int64) rig.Answer {
	t.Helper()
	return s.Request(t, http.MethodGet, fmt.Sprintf("/instance/shop/messages/%d/media", id), "", nil)
}

func keyOf(id int64) string { return fmt.Sprintf("postern/1/%d", id) }

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
