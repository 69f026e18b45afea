package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

const bread = "120363000000000009@newsletter"

// channelOf returns the channel bread, which the phones with numbers joined in a role.
func channelOf(t *testing.T, s *Server, roles map[string]string) types.JID {
	t.Helper()
	for phone, role := range roles {
		does(t, s, phone, `{"do":"newsletter-join","newsletter":"`+bread+`","name":"Bread","role":"`+role+`"}`)
	}
	jid, err := types.ParseJID(bread)
	if err != nil {
		t.Fatal(err)
	}
	return jid
}

// viewed has a phone read the channel.
func viewed(t *testing.T, s *Server, phone string) []postView {
	t.Helper()
	var answer struct {
		Posts []postView `json:"posts"`
	}
	if got := call(t, s, "POST", "/sandbox/phones/"+phone+"/act", `{"do":"newsletter-view","newsletter":"`+bread+`"}`, &answer); got != http.StatusOK {
		t.Fatalf("%s reads the channel: %d", phone, got)
	}
	return answer.Posts
}

func post(t *testing.T, c *client, to types.JID, m *waE2E.Message, extra ...whatsmeow.SendRequestExtra) whatsmeow.SendResponse {
	t.Helper()
	r, err := c.SendMessage(t.Context(), to, m, extra...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPostsOfTheOwnerReachFollowers(t *testing.T) {
	s, own, anne, c := withContacts(t)
	second, follower := linked(t, s, own), linked(t, s, anne)
	jid := channelOf(t, s, map[string]string{ownNumber: "owner", anneNumber: ""})
	for i, text := range []string{"fresh", "still warm"} {
		r := post(t, c, jid, &waE2E.Message{Conversation: &text})
		if r.ServerID != 100+i {
			t.Errorf("%s has the number %d", text, r.ServerID)
		}
		for _, other := range []*client{second, follower} {
			if e := wait(other, 1, isText(text)); e.Info.ID != r.ID || e.Info.Chat != jid || e.Info.ServerID != r.ServerID {
				t.Errorf("%s arrived as %+v", text, e.Info)
			}
		}
	}
	does(t, s, anneNumber, `{"do":"newsletter-leave","newsletter":"`+bread+`"}`)
	post(t, c, jid, &waE2E.Message{Conversation: new("stale")})
	wait(second, 1, isText("stale"))
	if n := count(c, every[*events.Message]) + count(follower, isText("stale")); n != 0 {
		t.Errorf("the device that posts, or one that left, received %d", n)
	}
}

func TestOnlyOwnerAndAdminsPost(t *testing.T) {
	s, _, _, c := withContacts(t)
	text := &waE2E.Message{Conversation: new("fresh")}
	for role, code := range map[string]string{"subscriber": "403", "admin": "", "owner": ""} {
		jid := channelOf(t, s, map[string]string{ownNumber: role})
		info, err := c.GetNewsletterInfo(t.Context(), jid)
		if err != nil || string(info.ViewerMeta.Role) != role {
			t.Errorf("role %q is shown as %+v, %v", role, info.ViewerMeta, err)
		}
		_, err = c.SendMessage(t.Context(), jid, text)
		if code == "" && err != nil || code != "" && (!errors.Is(err, whatsmeow.ErrServerReturnedError) || !strings.HasSuffix(err.Error(), code)) {
			t.Errorf("a post as %q: %v", role, err)
		}
	}
}

func TestPostsAreListedWithTheirCounts(t *testing.T) {
	s, _, _, c := withContacts(t)
	jid := channelOf(t, s, map[string]string{ownNumber: "admin"})
	first := post(t, c, jid, &waE2E.Message{Conversation: new("one")})
	does(t, s, anneNumber, `{"do":"newsletter-message","newsletter":"`+bread+`","text":"two"}`)
	does(t, s, anneNumber, `{"do":"newsletter-react","newsletter":"`+bread+`","serverId":100,"emoji":"👍"}`)
	if err := c.NewsletterSendReaction(t.Context(), jid, first.ServerID, "🍞", ""); err != nil {
		t.Fatal(err)
	}
	if err := c.NewsletterMarkViewed(t.Context(), jid, []types.MessageServerID{100, 101}); err != nil {
		t.Fatal(err)
	}
	viewed(t, s, anneNumber)
	all, err := c.GetNewsletterMessages(t.Context(), jid, nil)
	if err != nil || len(all) != 2 {
		t.Fatalf("listed %d, %v", len(all), err)
	}
	one := all[0]
	if one.MessageServerID != 100 || one.MessageID != first.ID || one.Message.GetConversation() != "one" || one.ViewsCount != 2 ||
		len(one.ReactionCounts) != 2 || one.ReactionCounts["👍"] != 1 || one.ReactionCounts["🍞"] != 1 {
		t.Errorf("the first is %+v", one)
	}
	if err := c.NewsletterSendReaction(t.Context(), jid, first.ServerID, "", ""); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the reaction is removed", func() bool { return len(viewed(t, s, ownNumber)[1].Reactions) == 1 })
	for before, want := range map[int]int{0: 101, 101: 100} {
		all, err = c.GetNewsletterMessages(t.Context(), jid, &whatsmeow.GetNewsletterMessagesParams{Count: 1, Before: before})
		if err != nil || len(all) != 1 || all[0].MessageServerID != want {
			t.Errorf("before %d: %+v, %v", before, all, err)
		}
	}
}

func TestPostsAreEditedAndDeleted(t *testing.T) {
	s, _, anne, c := withContacts(t)
	follower := linked(t, s, anne)
	jid := channelOf(t, s, map[string]string{ownNumber: "owner", anneNumber: ""})
	r := post(t, c, jid, &waE2E.Message{Conversation: new("fresh")})
	edited := post(t, c, jid, c.BuildEdit(jid, r.ID, &waE2E.Message{Conversation: new("fresher")}))
	if e := wait(follower, 1, isText("fresher")); e.Info.ID != r.ID || e.NewsletterMeta == nil || edited.ID != r.ID || edited.ServerID != r.ServerID {
		t.Errorf("edited as %+v, received as %+v", edited, e.Info)
	}
	post(t, c, jid, c.BuildRevoke(jid, types.EmptyJID, r.ID))
	if all := viewed(t, s, anneNumber); len(all) != 1 || !all[0].Deleted || string(all[0].Message) != "null" {
		t.Errorf("deleted: %+v", all)
	}
	list, err := c.GetNewsletterMessages(t.Context(), jid, nil)
	if err != nil || len(list) != 1 || list[0].Message != nil {
		t.Errorf("listed %+v, %v", list, err)
	}
	for name, m := range map[string]*waE2E.Message{
		"an edit of a deleted post":     c.BuildEdit(jid, r.ID, &waE2E.Message{Conversation: new("again")}),
		"the deletion of an unknown id": c.BuildRevoke(jid, types.EmptyJID, "NONE"),
	} {
		if _, err := c.SendMessage(t.Context(), jid, m); err == nil || !strings.HasSuffix(err.Error(), "404") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFilesOfPostsHaveHandlesAndNoKeys(t *testing.T) {
	s, _, anne, c := withContacts(t)
	follower := linked(t, s, anne)
	jid := channelOf(t, s, map[string]string{ownNumber: "owner", anneNumber: ""})
	want := []byte("a loaf, or so it claims")
	up, err := c.UploadNewsletter(t.Context(), want, whatsmeow.MediaImage)
	if err != nil || up.Handle == "" {
		t.Fatalf("uploaded %+v, %v", up, err)
	}
	picture := func(up whatsmeow.UploadResponse) *waE2E.Message {
		return &waE2E.Message{ImageMessage: &waE2E.ImageMessage{
			URL: &up.URL, DirectPath: &up.DirectPath, MediaKey: up.MediaKey, FileSHA256: up.FileSHA256, FileEncSHA256: up.FileEncSHA256, FileLength: &up.FileLength, Mimetype: new("image/jpeg"),
		}}
	}
	post(t, c, jid, picture(up), whatsmeow.SendRequestExtra{MediaHandle: up.Handle})
	e := wait(follower, 1, func(e *events.Message) bool { return e.Message.GetImageMessage() != nil })
	got, err := follower.Download(t.Context(), e.Message.GetImageMessage())
	if err != nil || !bytes.Equal(got, want) || e.Info.MediaType != "image" {
		t.Errorf("downloaded %q of %+v, %v", got, e.Info, err)
	}
	sealed, err := c.Upload(t.Context(), want, whatsmeow.MediaImage)
	if err != nil {
		t.Fatal(err)
	}
	keys := up
	keys.MediaKey, keys.FileEncSHA256 = sealed.MediaKey, sealed.FileEncSHA256
	for name, refused := range map[string]struct {
		m      *waE2E.Message
		handle string
	}{
		"no handle":            {picture(up), ""},
		"an encrypted file":    {picture(sealed), up.Handle},
		"a file with keys":     {picture(keys), up.Handle},
		"a handle and no file": {&waE2E.Message{Conversation: new("x")}, up.Handle},
		"an unknown handle":    {picture(up), "1:00"},
	} {
		if _, err := c.SendMessage(t.Context(), jid, refused.m, whatsmeow.SendRequestExtra{MediaHandle: refused.handle}); err == nil || !strings.HasSuffix(err.Error(), "400") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAChannelPublishesAFile(t *testing.T) {
	s, _, _, c := withContacts(t)
	channelOf(t, s, map[string]string{ownNumber: ""})
	made := does(t, s, anneNumber, `{"do":"newsletter-message","newsletter":"`+bread+`","kind":"image","text":"a loaf"}`)
	e := wait(c, 1, func(e *events.Message) bool { return e.Message.GetImageMessage() != nil })
	m := e.Message.GetImageMessage()
	if got, err := c.Download(t.Context(), m); err != nil || !bytes.Equal(got, greyJPEG()) || m.MediaKey != nil || m.GetCaption() != "a loaf" || strconv.Itoa(e.Info.ServerID) != made["serverId"] {
		t.Errorf("received %+v as %+v, made %v: %v", m, e.Info, made, err)
	}
	does(t, s, anneNumber, `{"do":"newsletter-message","newsletter":"`+bread+`","id":"`+made["id"]+`","deleted":true}`)
	if all := viewed(t, s, anneNumber); !all[0].Deleted {
		t.Errorf("it is still there: %+v", all)
	}
}

func TestPostsAreThereAfterARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sandbox.db")
	s := openServer(t, Config{Path: path})
	addPhone(t, s, ownNumber)
	for _, text := range []string{"one", "two"} {
		does(t, s, ownNumber, `{"do":"newsletter-message","newsletter":"`+bread+`","text":"`+text+`"}`)
	}
	before, err := json.Marshal(viewed(t, s, ownNumber))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openServer(t, Config{Path: path})
	if after, err := json.Marshal(viewed(t, s, ownNumber)); err != nil || !bytes.Equal(before, after) || !bytes.Contains(after, []byte(`"serverId":101`)) {
		t.Errorf("before %s, after %s, %v", before, after, err)
	}
}
