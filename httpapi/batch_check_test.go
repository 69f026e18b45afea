package httpapi

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"postern/httpapi/batches"
)

func TestADryRunAsksFiftyNumbersASecond(t *testing.T) {
	r, _, left := sender(t)
	asked := &doer{}
	r.line.Account = asked
	var numbers []string
	for i := range 60 {
		numbers = append(numbers, fmt.Sprintf(`"49151%08d"`, i))
	}
	numbers = append(numbers, `"12"`, numbers[0])
	list := "[" + strings.Join(numbers, ",") + "]"
	body := `{"name":"n","instances":["a"],"recipients":` + list + `,"message":{"type":"text","payload":{"text":"hi"}},"options":{"delay":{"minMs":1000,"maxMs":1000}},"dryRun":true}`
	begin := time.Now()
	res := r.do("POST", "/message/batches", body)
	if res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	got := decoded[batches.DryRun](t, res)
	if got.Counts.Total != 60 || got.Duplicates != 1 || len(got.Malformed) != 1 || *got.Malformed[0].Index != 60 || got.EstimatedMs != 59_000 || len(got.Instances) != 1 {
		t.Errorf("%+v", got)
	}
	if took := time.Since(begin); got.Checked != 60 || len(got.NotOnWhatsApp) != 58 || took < time.Second || len(asked.asked) != 2 {
		t.Errorf("%d asked for, %d without an account, in %v", got.Checked, len(got.NotOnWhatsApp), took)
	}
	if got.Examples[0].Text != "hi" || got.Examples[0].Recipient != "4915100000000" {
		t.Errorf("%+v", got.Examples)
	}
	if n := r.count("batch") + r.count("batch_item"); n != 0 || left.Load() != 0 {
		t.Errorf("%d records, %d messages", n, left.Load())
	}
}

func TestACheckNeedsADraft(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	at := r.draftOf(`["a"]`, `["4915112345678"]`)
	got := decoded[batches.DryRun](t, r.do("POST", at+"/check", ""))
	if got.Counts.Total != 1 || got.Checked != 0 || len(got.Examples) != 1 {
		t.Errorf("%+v", got)
	}
	r.do("POST", at+"/stop", "")
	wantError(t, r.do("POST", at+"/check", ""), 409, "INVALID_BATCH_TRANSITION")
}
