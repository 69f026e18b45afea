package sends

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// TestInsightsCountWhatPhonesDo has Anne read and answer, and Bob quote.
func TestInsightsCountWhatPhonesDo(t *testing.T) {
	s := rig.NewSendScene(t)
	b := batchOf(t, s, "text", `{"text":"the shop is open"}`)
	path := "/message/batches/" + b.ID.String()
	s.Vars["toBob"] = s.SentID(t, b.ID, rig.BobNumber)
	counts := func(want string) func() bool {
		return func() bool {
			var got struct{ Counts json.RawMessage }
			s.Call(consumer.Bearer(s.User), http.MethodGet, path+"/insights", nil, &got)
			return string(got.Counts) == want
		}
	}
	s.Await("both deliveries", counts(`{"sent":2,"delivered":2,"read":0,"replied":0}`))
	s.Do(t, rig.Act("$anne", fmt.Sprintf(`{"do":"receipt","to":"$own","type":"read","ids":[%q]}`, s.SentID(t, b.ID, rig.AnneNumber))))
	s.Await("that Anne read it", counts(`{"sent":2,"delivered":2,"read":1,"replied":0}`))
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"thank you"}`))
	s.Do(t, rig.Act("$bob", `{"do":"message","to":"$own","content":{"extendedTextMessage":{"text":"when?","contextInfo":{"stanzaID":"$toBob","participant":"$shopLID"}}}}`))
	s.Await("both replies", counts(`{"sent":2,"delivered":2,"read":1,"replied":2}`))

	s.Token = s.User
	a := s.Request(t, http.MethodGet, path+"/report.csv", "", nil)
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(a.Body), "\ufeff"))).ReadAll()
	if a.Status != http.StatusOK || err != nil || len(rows) != 3 {
		t.Fatalf("%d %v %s", a.Status, err, a.Body)
	}
	head := strings.Join(rows[0], ",")
	if !strings.HasSuffix(head, ",finishedAt,deliveredAt,readAt,repliedAt") {
		t.Error(head)
	}
	for i, want := range [][]bool{{true, true, true}, {true, false, true}} { // Anne, Bob
		row := rows[i+1]
		for j, has := range want {
			cell := row[len(row)-3+j]
			if at, err := time.Parse(time.RFC3339, cell); has != (cell != "") || has && (err != nil || time.Since(at).Abs() > time.Hour) {
				t.Errorf("%s of %s is %q", rows[0][len(row)-3+j], row[1], cell)
			}
		}
	}
}
