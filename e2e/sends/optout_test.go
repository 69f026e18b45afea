package sends

import (
	"net/http"
	"slices"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

type optOut struct{ Number, Reason, Source string }

// sentTo runs a batch with opt-out words and returns whose items were sent, and the codes
// of the others.
func sentTo(t *testing.T, s *rig.SendScene, name string, recipients ...string) (to []string, codes []string) {
	t.Helper()
	b := s.CreateBatchOf(map[string]any{
		"name": name, "instances": []string{rig.SceneName}, "recipients": recipients,
		"message": map[string]any{"type": "text", "payload": map[string]any{"text": "news"}},
		"options": map[string]any{"optOutWords": []string{"stop", "Sair"}},
	})
	s.Await("the end of the batch", func() bool { return s.Batch(b.ID).Status == "COMPLETED" })
	type item struct{ NormalizedRecipient, Status, LastErrorCode string }
	for _, i := range rig.Pages[item](s.World, s.User, "/message/batches/"+b.ID.String()+"/items") {
		if i.Status == "SUCCESS" {
			to = append(to, i.NormalizedRecipient)
		} else {
			codes = append(codes, i.NormalizedRecipient+" "+i.Status+" "+i.LastErrorCode)
		}
	}
	return to, codes
}

// TestAnswerToABatchOptsOut: a phone answers with a word, and another one whose chat is
// ignored; the next batch skips both, also after a kill, until they are removed.
func TestAnswerToABatchOptsOut(t *testing.T) {
	for name, env := range map[string][]string{"messages are saved": nil, "messages are not saved": {"DATABASE_SAVE_DATA_NEW_MESSAGE=false"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := rig.NewSendScene(t, env...)
			s.Call(consumer.Bearer(s.Token), http.MethodPut, s.Fill("/instance/$name/settings"), map[string]any{"ignore": map[string]any{"jids": []string{rig.BobNumber}}}, nil)
			if to, codes := sentTo(t, s, "first", rig.AnneNumber, rig.BobNumber); !slices.Equal(to, []string{rig.AnneNumber, rig.BobNumber}) {
				t.Fatalf("sent to %v; %v", to, codes)
			}
			s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":" STÓP "}`))
			s.Do(t, rig.Act("$bob", `{"do":"text","to":"$own","text":"sair."}`))
			listed := func() []optOut { return rig.Pages[optOut](s.World, s.User, "/optouts") }
			s.Await("both opt-outs", func() bool { return len(listed()) == 2 })
			if all := listed(); all[0].Number != rig.AnneNumber || all[0].Reason != "STÓP" || all[0].Source[:6] != "batch:" || all[1].Number != rig.BobNumber {
				t.Errorf("the list has %+v", all)
			}
			s.Kill()
			s.Start()
			s.AwaitOnline(rig.SceneName, s.Token)
			skipped := []string{rig.AnneNumber + " SKIPPED OPTED_OUT", rig.BobNumber + " SKIPPED OPTED_OUT"}
			if to, codes := sentTo(t, s, "second", rig.AnneNumber, rig.BobNumber); len(to) > 0 || !slices.Equal(codes, skipped) {
				t.Errorf("sent to %v; %v", to, codes)
			}
			if n := s.Decrypted(rig.AnneNumber, "news"); n != 1 {
				t.Errorf("the phone got the text %d times", n)
			}
			s.Call(consumer.Bearer(s.User), http.MethodDelete, "/optouts", map[string]any{"numbers": []string{rig.AnneNumber}}, nil)
			if to, codes := sentTo(t, s, "third", rig.AnneNumber, rig.BobNumber); !slices.Equal(to, []string{rig.AnneNumber}) || !slices.Equal(codes, skipped[1:]) {
				t.Errorf("sent to %v; %v", to, codes)
			}
			s.Stop()
		})
	}
}

// TestOptOutOfLIDHoldsAtFirstContact has a person opt out whose number Postern learns to be theirs only when a
// batch looks it up.
func TestOptOutOfLIDHoldsAtFirstContact(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	const number = "4915155577701"
	s.Do(t, rig.Route(http.MethodPost, "/sandbox/phones", `{"phone":"`+number+`"}`))
	phone, _ := s.Sandbox.Phone(number)
	s.Call(consumer.Bearer(s.User), http.MethodPost, "/optouts", map[string]any{"numbers": []string{phone.LID().String()}}, nil)
	want := []string{number + " SKIPPED OPTED_OUT"}
	for _, name := range []string{"first", "second"} {
		if to, codes := sentTo(t, s, name, number, rig.AnneNumber); !slices.Equal(to, []string{rig.AnneNumber}) || !slices.Equal(codes, want) {
			t.Errorf("%s: sent to %v; %v", name, to, codes)
		}
	}
	if texts := textsOf(s, number); len(texts) > 0 {
		t.Errorf("the phone got %q", texts)
	}
}
