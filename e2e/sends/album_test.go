package sends

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
	"postern/sandbox"
)

// albumAnswer is the answer to send/album.
type albumAnswer struct {
	Album json.RawMessage
	Items []json.RawMessage
}

const albumPath = "/instance/$name/send/album"

// albumOf returns a body with so many pictures.
func albumOf(n int) string {
	items := strings.Repeat(`{"mediatype":"image","media":"$files/photo.jpg"},`, n)
	return `{"number":"$anne","albumMessage":{"items":[` + strings.TrimSuffix(items, ",") + `]}}`
}

// received returns the message ids that a phone received, in order.
func received(s *rig.SendScene, number string) (ids []string) {
	phone, _ := s.Sandbox.Phone(number)
	for _, m := range phone.Received() {
		ids = append(ids, m.ID)
	}
	return ids
}

// TestAlbumArrivesWholeAndInOrder with no other message between.
func TestAlbumArrivesWholeAndInOrder(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() { // others want to send meanwhile
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				send(s.Scene, rig.AnneNumber)
			}
		}
	}()
	body := `{"number":"$anne","albumMessage":{"items":[
		{"mediatype":"image","media":"$files/photo.jpg","caption":"one"},
		{"mediatype":"video","media":"$files/clip.mp4"},
		{"mediatype":"image","media":"$files/photo.jpg","caption":"three"}]},"options":{"externalAttributes":{"order":7}}}`
	a := s.PostJSON(t, s.Fill(albumPath), body)
	close(stop)
	<-done
	var album albumAnswer
	if err := json.Unmarshal(a.Body, &album); err != nil || len(album.Items) != 3 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	first := s.Sent(t, 0, rig.Answer{Status: a.Status, Body: album.Album}, `{"messageType":"albumMessage","content":{"expectedImageCount":2,"expectedVideoCount":1},"externalAttributes":{"order":7}}`)
	s.DecryptedAs(t, rig.AnneNumber, first.KeyID, `{"albumMessage":{"expectedImageCount":2,"expectedVideoCount":1}}`)
	order := []string{first.KeyID}
	for i, want := range []string{`"imageMessage":{"caption":"one"`, `"videoMessage":{"mimetype":"video/mp4"`, `"imageMessage":{"caption":"three"`} {
		m := s.Sent(t, 0, rig.Answer{Status: a.Status, Body: album.Items[i]}, `{"externalAttributes":{"order":7}}`)
		s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{`+want+`},"messageContextInfo":{"messageAssociation":{"associationType":"MEDIA_ALBUM",
			"parentMessageKey":{"fromMe":true,"ID":"`+first.KeyID+`"}}}}`)
		order = append(order, m.KeyID)
	}
	if got := strings.Join(received(s, rig.AnneNumber), " "); !strings.Contains(got, strings.Join(order, " ")) {
		t.Errorf("the album %v arrived among others as %s", order, got)
	}
	if n := s.Fetched("/photo.jpg"); n != 2 {
		t.Errorf("the picture was fetched %d times for two entries", n)
	}
}

// TestAlbumWithAnUnreadableFileIsRefusedWhole names the file, and nothing is sent.
func TestAlbumWithAnUnreadableFileIsRefusedWhole(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	item := `{"mediatype":"image","media":"$files/photo.jpg"}`
	for items, want := range map[string]string{
		item + `,{"mediatype":"image","media":"$files/missing.jpg"}`:                           `422 INVALID_MEDIA items[1]`,
		item + `,{"mediatype":"video","media":"$files/photo.jpg"}`:                             `422 INVALID_MEDIA items[1]`,
		item + `,{"mediatype":"audio","media":"$files/note.ogg"}`:                              `422 INVALID_MESSAGE items[1].mediatype`,
		item + `,{"mediatype":"image"}`:                                                        `422 INVALID_MESSAGE items[1]`,
		item + `,{"mediatype":"image","mediaUploadId":"0196a000-0000-7000-8000-000000000001"}`: `422 INVALID_MEDIA items[1]`,
		item: `422 INVALID_MESSAGE items`,
		strings.TrimSuffix(strings.Repeat(item+",", 31), ","): `422 INVALID_MESSAGE items`,
	} {
		a := s.PostJSON(t, s.Fill(albumPath), `{"number":"$anne","albumMessage":{"items":[`+items+`]}}`)
		got := fmt.Sprint(a.Status, " ", string(a.Body))
		for part := range strings.FieldsSeq(want) {
			if !strings.Contains(got, part) {
				t.Errorf("%.200s: %.300s, not %s", items, got, want)
			}
		}
	}
	for _, option := range []string{`"mentionAll":true`, `"mentions":["$anne"]`, `"sendAt":"2099-01-01T00:00:00Z"`} {
		a := s.PostJSON(t, s.Fill(albumPath), strings.TrimSuffix(albumOf(2), "}")+`,"options":{`+option+`}}`)
		refused(t, a, http.StatusUnprocessableEntity, "INVALID_MESSAGE")
	}
	if got := received(s, rig.AnneNumber); len(got) > 0 {
		t.Errorf("arrived: %v", got)
	}
}

// TestBatchSendsAnAlbumAsOneItem: the messages are its parts, and the files are uploaded once for all.
func TestBatchSendsAnAlbumAsOneItem(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	var b rig.BatchAnswer
	items := []map[string]any{
		{"mediatype": "image", "media": s.Fill("$files/photo.jpg"), "caption": "for {{name}}"}, {"mediatype": "video", "media": s.Fill("$files/clip.mp4")},
	}
	create := map[string]any{
		"name": "album", "instances": []string{rig.SceneName},
		"recipients": []map[string]any{{"number": rig.AnneNumber, "variables": map[string]any{"name": "Anne"}}, {"number": rig.BobNumber, "variables": map[string]any{"name": "Bob"}}},
		"message":    map[string]any{"type": "album", "payload": map[string]any{"items": items}},
	}
	s.Call(consumer.Bearer(s.User), http.MethodPost, "/message/batches", create, &b)
	s.Await("the end of the batch", func() bool { return s.Batch(b.ID).Status == event.BatchIsCompleted })
	for number, name := range map[string]string{rig.AnneNumber: "Anne", rig.BobNumber: "Bob"} {
		ids := received(s, number)
		if len(ids) != 3 {
			t.Fatalf("%s received %v", name, ids)
		}
		s.DecryptedAs(t, number, ids[0], `{"albumMessage":{"expectedImageCount":1,"expectedVideoCount":1}}`)
		s.DecryptedAs(t, number, ids[1], `{"imageMessage":{"caption":"for `+name+`"},"messageContextInfo":{"messageAssociation":{"parentMessageKey":{"ID":"`+ids[0]+`"}}}}`)
		s.DecryptedAs(t, number, ids[2], `{"videoMessage":{},"messageContextInfo":{"messageAssociation":{"parentMessageKey":{"ID":"`+ids[0]+`"}}}}`)
	}
	for _, file := range []string{"/photo.jpg", "/clip.mp4"} {
		if n := s.Fetched(file); n != 1 {
			t.Errorf("%s was fetched %d times", file, n)
		}
	}
	items[1]["media"] = s.Fill("$files/missing.mp4")
	s.Call(consumer.Bearer(s.User), http.MethodPost, "/message/batches", create, &b)
	s.Await("the end of the batch", func() bool { return s.Batch(b.ID).Counts.Failed == 2 })
	if got := received(s, rig.AnneNumber); len(got) != 3 {
		t.Errorf("an album without one of its files: %v", got)
	}
}

// TestLimitsLetAllOfAnAlbumOrNone: it counts as the message that begins it and one for each file.
func TestLimitsLetAllOfAnAlbumOrNone(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	if a := s.Request(t, http.MethodPut, s.Fill("/instance/$name/limits"), "application/json", strings.NewReader(`{"perHour":7,"newContactsPerDay":1}`)); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := s.PostJSON(t, s.Fill(albumPath), albumOf(2)); a.Status != http.StatusOK {
		t.Fatalf("3 of 7: %d %s", a.Status, a.Body)
	}
	for range 2 {
		refused(t, s.PostJSON(t, s.Fill(albumPath), albumOf(4)), http.StatusTooManyRequests, "INSTANCE_LIMIT")
	}
	if a := s.PostJSON(t, s.Fill(albumPath), albumOf(3)); a.Status != http.StatusOK {
		t.Errorf("7 of 7: %d %s", a.Status, a.Body)
	}
	if status, answer := send(s.Scene, rig.AnneNumber); status != http.StatusTooManyRequests {
		t.Errorf("the eighth: %d %s", status, answer)
	}
	if got := received(s, rig.AnneNumber); len(got) != 7 {
		t.Errorf("arrived: %v", got)
	}
}

// TestAlbumGoesOnAfterARefusedFile, and the answer has its error.
func TestAlbumGoesOnAfterARefusedFile(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	const pause = time.Second
	s.Sandbox.SetFaults(sandbox.Faults{AckDelay: pause})
	go func() {
		for len(received(s, rig.AnneNumber)) == 0 {
			time.Sleep(time.Millisecond)
		}
		s.Sandbox.SetFaults(sandbox.Faults{AckDelay: pause, SendError: 479})
		time.Sleep(pause + pause/2) // the next one arrives when this one is acknowledged
		s.Sandbox.SetFaults(sandbox.Faults{})
	}()
	answer := s.MustWithKey(s.Token, "album", s.Fill(albumPath), json.RawMessage(s.Fill(albumOf(3))))
	var album struct {
		Items []struct {
			ID    int64
			Error *struct{ Code, Message string }
		}
	}
	if err := json.Unmarshal([]byte(answer.Body), &album); err != nil || answer.Status != http.StatusOK || len(album.Items) != 3 {
		t.Fatalf("%v", answer)
	}
	if e := album.Items[0].Error; e == nil || e.Code != "SEND_MESSAGE_FAILED" || !strings.Contains(e.Message, "479") {
		t.Errorf("the refused one: %s", answer.Body)
	}
	for _, one := range album.Items[1:] {
		if one.Error != nil || one.ID == 0 {
			t.Errorf("after it: %s", answer.Body)
		}
	}
	again := s.MustWithKey(s.Token, "album", s.Fill(albumPath), json.RawMessage(s.Fill(albumOf(3))))
	if !again.Replayed || again.Body != answer.Body {
		t.Errorf("repeated: %v", again)
	}
	if got := received(s, rig.AnneNumber); len(got) != 3 {
		t.Errorf("arrived: %v", got)
	}
}

// TestNothingMoreOfAnAlbumLeavesAfterDoubt: what was acknowledged before is stored and reported.
func TestNothingMoreOfAnAlbumLeavesAfterDoubt(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t, "MESSAGE_SEND_TIMEOUT=3s")
	s.Sandbox.SetFaults(sandbox.Faults{AckDelay: 500 * time.Millisecond})
	go func() {
		for len(received(s, rig.AnneNumber)) < 2 {
			time.Sleep(time.Millisecond)
		}
		s.Sandbox.SetFaults(sandbox.Faults{AckDelay: time.Minute}) // of the next message
	}()
	a := s.PostJSON(t, s.Fill(albumPath), albumOf(5))
	refused(t, a, http.StatusRequestTimeout, "SEND_RESULT_UNKNOWN")
	if !strings.Contains(string(a.Body), "items[1]") {
		t.Errorf("the answer does not name the message: %s", a.Body)
	}
	s.AwaitEvent(t, 0, event.SendMessage, `{"messageType":"albumMessage"}`)
	s.AwaitEvent(t, 0, event.SendMessage, `{"messageType":"imageMessage"}`)
	if got := received(s, rig.AnneNumber); len(got) != 3 {
		t.Errorf("arrived: %v", got)
	}
}

// TestKillDuringAlbumSendsNothingTwice: the repeated request learns what is unknown and sends nothing.
func TestKillDuringAlbumSendsNothingTwice(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	s.Sandbox.SetFaults(sandbox.Faults{AckDelay: 500 * time.Millisecond})
	first := make(chan struct{})
	body := json.RawMessage(s.Fill(albumOf(5)))
	go func() {
		defer close(first)
		_, _ = s.WithKey(s.Token, "album", s.Fill(albumPath), body)
	}()
	s.Await("two messages of the album", func() bool { return len(received(s, rig.AnneNumber)) >= 2 })
	s.Kill()
	<-first
	s.Sandbox.SetFaults(sandbox.Faults{})
	before := received(s, rig.AnneNumber)
	s.Start()
	s.Online(t)
	again := s.MustWithKey(s.Token, "album", s.Fill(albumPath), body)
	if again.Status != http.StatusRequestTimeout || again.Field("code") != "SEND_RESULT_UNKNOWN" || !again.Replayed {
		t.Errorf("after the kill: %v", again)
	}
	text := s.PostJSON(t, s.Fill("/instance/$name/send/text"), s.Fill(`{"number":"$anne","textMessage":{"text":"after"}}`))
	if text.Status != http.StatusCreated && text.Status != http.StatusOK {
		t.Fatalf("a text after it: %v", text)
	}
	s.Await("the text after it", func() bool { return s.Decrypted(rig.AnneNumber, "after") == 1 })
	if got := received(s, rig.AnneNumber); len(got) != len(before)+1 {
		t.Errorf("arrived before the kill: %v, and after it: %v", before, got)
	}
}
