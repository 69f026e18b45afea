package batch

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"postern/batch/record"
	"postern/event"
	"postern/store"
)

// TestDamagedItemFailsAndOthersAreSent: its recipient is unknown,
// and that nothing left for it.
func TestDamagedItemFailsAndOthersAreSent(t *testing.T) {
	bubble(t, newFleet(1), func(r *rig) {
		req := request(4)
		req.AutoStart = new(bool)
		id := r.create(req).ID
		synctest.Wait()
		err := r.s.Update(r.Context(), func(tx *store.Tx) error { return tx.Put(record.BucketItem, record.ItemKey(id, 2), []byte{99}) })
		if err != nil {
			r.Fatal(err)
		}
		r.do(r.e.StartBatch)
		v := r.status(witherr)
		if len(r.f.sent) != 3 || v.Counts.Success != 3 || v.Counts.Failed != 1 {
			t.Errorf("sent %d, counts %+v", len(r.f.sent), v.Counts)
		}
		for _, i := range r.items() {
			if want := map[bool]record.ItemStatus{false: record.ItemSuccess, true: record.ItemFailed}[i.Position == 2]; i.Status != want {
				t.Errorf("item %d is %s", i.Position, i.Status)
			}
			if i.Position == 2 && *i.LastErrorCode != "RECORD_DAMAGED" {
				t.Errorf("code %s", *i.LastErrorCode)
			}
		}
		reported, _ := payloads(r)[event.BatchItemFailed]["error"].(map[string]any)
		if reported["code"] != "SEND_MESSAGE_FAILED" || !strings.Contains(fmt.Sprint(reported["message"]), "damaged") {
			t.Errorf("item.failed reports %v: its code is SEND_MESSAGE_FAILED whatever the reason", reported)
		}
	})
}
