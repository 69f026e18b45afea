package baileys

import (
	"fmt"
	"net/http"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

func TestGroupOfBaileys(t *testing.T) {
	t.Parallel()
	k := talking(t)
	from := len(k.Webhooks())
	var made struct {
		ID           string `json:"id"`
		Subject      string `json:"subject"`
		Participants []struct {
			ID    string `json:"id"`
			Admin string `json:"admin"`
		} `json:"participants"`
	}
	k.b.call(&made, "groupCreate", "Bakers", []string{shopJID, rig.BobNumber + "@s.whatsapp.net"})
	if made.Subject != "Bakers" || len(made.Participants) != 3 {
		t.Fatalf("the group is %+v", made)
	}
	k.AwaitEvent(t, from, event.GroupsUpsert, fmt.Sprintf(`[{"id":%q,"subject":"Bakers"}]`, made.ID))
	k.Vars["group"] = made.ID
	k.talkInGroup(t)

	k.b.call(nil, "groupUpdateSubject", made.ID, "Bakers and friends")
	k.AwaitEvent(t, from, event.GroupsUpdate, `[{"partial":{"subject":"Bakers and friends"}}]`)
	k.b.call(nil, "groupParticipantsUpdate", made.ID, []string{rig.BobNumber + "@s.whatsapp.net"}, "remove")
	k.AwaitEvent(t, from, event.GroupsParticipantsEvent, `{"action":"remove"}`)
}

// talkInGroup sends texts to the group both ways, twice: the second ones need no new key.
func (k talk) talkInGroup(t *testing.T) {
	t.Helper()
	for i := range 2 {
		m, _ := k.says(t, "$group", map[string]any{"text": fmt.Sprintf("bread %d", i)},
			fmt.Sprintf(`"keyRemoteJid":%q,"isGroup":true,"keyParticipant":"$anne@s.whatsapp.net","content":{"text":"bread %d"}`, k.Vars["group"], i))
		k.DecryptedAs(t, rig.BobNumber, m.Key.ID, fmt.Sprintf(`{"extendedTextMessage":{"text":"bread %d"}}`, i))
		_, got := k.posts(t, "/instance/$name/send/text", fmt.Sprintf(`{"number":"$group","textMessage":{"text":"butter %d"}}`, i),
			fmt.Sprintf(`"key":{"remoteJid":"$group","participant":"$shopLID","participantAlt":"$own@s.whatsapp.net"},"message":{"conversation":"butter %d"}`, i))
		if got.Key.FromMe {
			t.Error("Baileys takes the message for its own")
		}
	}
}

func TestGroupOfPostern(t *testing.T) {
	t.Parallel()
	k := talking(t)
	seen := k.b.seen()
	var made struct{ ID string }
	k.Call(consumer.Bearer(k.Token), http.MethodPost, "/instance/"+rig.SceneName+"/group", map[string]any{
		"subject": "Millers", "description": "Who mills when", "participants": []string{rig.AnneNumber, rig.BobNumber},
	}, &made)
	k.b.event(seen, "groups.upsert", fmt.Sprintf(`{"id":%q,"subject":"Millers"}`, made.ID))
	k.Vars["group"] = made.ID
	k.talkInGroup(t)
	var all map[string]struct{ Subject, Desc string }
	k.b.call(&all, "groupFetchAllParticipating")
	if g := all[made.ID]; len(all) != 1 || g.Subject != "Millers" || g.Desc != "Who mills when" {
		t.Errorf("Baileys reads the groups %+v", all)
	}
}
