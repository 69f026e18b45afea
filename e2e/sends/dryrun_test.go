package sends

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// dryRun is the answer of a dry run.
type dryRun struct {
	Counts    struct{ Total int }
	Malformed []struct {
		Index, Row *int
		Input      string
	}
	Examples []struct {
		Position  int
		Recipient string
		Text      string
	}
	NotOnWhatsApp []string
	Checked       int
	Duplicates    int
	EstimatedMs   int64
	Instances     []struct{ Name string }
}

// dryRunWorld is a program with two instances that are online.
func dryRunWorld(t *testing.T) *rig.World {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real process")
	}
	w := rig.NewWorld(t)
	w.Start()
	w.Pair("red")
	w.Pair("blue")
	return w
}

// Each instance asks for 50 numbers a second, whatever the others do, and 500 are asked for in all.
func TestInstancesLookUpNumbersInParallel(t *testing.T) {
	w := dryRunWorld(t)
	numbers := make([]string, 510)
	for i := range numbers {
		numbers[i] = fmt.Sprintf("49151%08d", 10001+i)
	}
	numbers[3], numbers[498], numbers[505] = "49151130000", "49151140000", "49151150000" // which have no account
	for _, row := range []struct {
		instances   []string
		least, most time.Duration
	}{
		{[]string{"red"}, 9 * time.Second, 14 * time.Second},
		{[]string{"red", "blue"}, 4 * time.Second, 8 * time.Second},
	} {
		time.Sleep(1100 * time.Millisecond) // since the last step of the one before
		began := time.Now()
		var got dryRun
		w.Call(consumer.Bearer(w.User), http.MethodPost, "/message/batches", map[string]any{
			"name": "try", "instances": row.instances, "recipients": numbers, "dryRun": true,
			"message": map[string]any{"type": "text", "payload": map[string]any{"text": "hi"}},
		}, &got)
		took := time.Since(began)
		if got.Checked != 500 || !slices.Equal(got.NotOnWhatsApp, []string{numbers[3], numbers[498]}) || got.Counts.Total != 510 {
			t.Errorf("%v: %d asked for, %v without an account", row.instances, got.Checked, got.NotOnWhatsApp)
		}
		if took < row.least || took > row.most {
			t.Errorf("%v: it took %s, want %s to %s", row.instances, took, row.least, row.most)
		}
	}
	nothingStored(w)
}

// The header is row 1, a cell of several lines is one row, and blank lines count for nothing.
func TestCSVDryRunAnswersRows(t *testing.T) {
	w := dryRunWorld(t)
	plan := `{"name":"try","instances":["red"],"dryRun":true,"message":{"type":"text","payload":{"text":"Hi {{name|there}}"}}}`
	file := "number,name\n" +
		"4915110000001,Ana\n" + // 2
		"\n" +
		"12,Bo\n" + // 3
		"4915110000002,\"Cy\nof two lines\"\n" + // 4
		"\n\n" +
		"no number,Di\n" + // 5
		"4915110000001,Eva\n" + // 6, again
		"4915110000003,\n" // 7
	status, body := postCSV(w, plan, file)
	var got dryRun
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusOK {
		t.Fatal(status, body)
	}
	var rows []string
	for _, m := range got.Malformed {
		if m.Row == nil || m.Index != nil {
			t.Fatal(body)
		}
		rows = append(rows, fmt.Sprint(*m.Row, " ", m.Input))
	}
	if want := []string{"3 12", "5 no number"}; !slices.Equal(rows, want) {
		t.Errorf("malformed rows %q, want %q", rows, want)
	}
	if got.Counts.Total != 3 || got.Duplicates != 1 || got.Checked != 3 || len(got.NotOnWhatsApp) != 0 || len(got.Instances) != 1 {
		t.Errorf("%s", body)
	}
	if e := got.Examples; len(e) < 2 || e[0].Text != "Hi Ana" || e[1].Text != "Hi Cy\nof two lines" || e[1].Position != 1 || e[1].Recipient != "4915110000002" {
		t.Errorf("examples %+v", e)
	}
	nothingStored(w)
}

// postCSV posts a file with the JSON of a batch.
func postCSV(w *rig.World, plan, file string) (status int, body string) {
	w.T.Helper()
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	_ = parts.WriteField("batch", plan)
	part, err := parts.CreateFormFile("file", "people.csv")
	if err == nil {
		_, err = part.Write([]byte(file))
	}
	if err == nil {
		err = parts.Close()
	}
	req, reqErr := http.NewRequestWithContext(w.T.Context(), http.MethodPost, w.API.Base+"/message/batches/csv", &form)
	if err != nil || reqErr != nil {
		w.T.Fatal(err, reqErr)
	}
	req.Header.Set("Authorization", "Bearer "+w.User)
	req.Header.Set("Content-Type", parts.FormDataContentType())
	res, err := w.API.HTTP.Do(req)
	if err != nil {
		w.T.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		w.T.Fatal(err)
	}
	return res.StatusCode, string(raw)
}

// nothingStored checks that the user has no batch, and that nothing was sent.
func nothingStored(w *rig.World) {
	w.T.Helper()
	var list struct{ TotalRecords int }
	w.Call(consumer.Bearer(w.User), http.MethodGet, "/message/batches", nil, &list)
	if list.TotalRecords != 0 {
		w.T.Errorf("%d batches", list.TotalRecords)
	}
	if phone, ok := w.Sandbox.Phone("4915110000001"); ok && len(phone.Received()) > 0 {
		w.T.Errorf("sent: %+v", phone.Received())
	}
}
