package deliveries

import (
	"fmt"
	"net/url"
	"slices"
	"testing"

	"postern/batch"
	"postern/delivery/receivers"
)

// TestReceiversArePagedBothWays walks a list of five forward and back.
func TestReceiversArePagedBothWays(t *testing.T) {
	var rows []receivers.Row
	for i := range 5 {
		rows = append(rows, receivers.Row{ID: receivers.ID(fmt.Sprint(i, ":webhook"))})
	}
	pages := []string{"[0 1]", "[2 3]", "[4]"}
	var list batch.List[Receiver]
	for i, want := range pages {
		list = page(t, rows, "nextCursor", list.NextCursor)
		if got := numbers(list); got != want || list.TotalRecords != 5 || (list.NextCursor == nil) != (i == 2) || (list.PreviousCursor == nil) != (i == 0) {
			t.Errorf("page %d: %s, %+v", i, got, list)
		}
	}
	for _, want := range []string{"[2 3]", "[0 1]"} {
		if list = page(t, rows, "previousCursor", list.PreviousCursor); numbers(list) != want {
			t.Errorf("back: %s, want %s", numbers(list), want)
		}
	}
	if list.PreviousCursor != nil {
		t.Error("the first page has a previous one")
	}
}

// TestCursorOfARemovedReceiverIsTheFirstPage asks by the cursor of a receiver that was removed meanwhile.
func TestCursorOfARemovedReceiverIsTheFirstPage(t *testing.T) {
	rows := []receivers.Row{{ID: "1:webhook"}, {ID: "2:webhook"}, {ID: "3:webhook"}}
	for _, name := range []string{"nextCursor", "previousCursor"} {
		first := page(t, rows, name, nil)
		gone := page(t, []receivers.Row{{ID: "2:webhook"}, {ID: "3:webhook"}, {ID: "4:webhook"}, {ID: "5:webhook"}}, name, nil).NextCursor
		if got := page(t, rows[:2:2], name, gone); numbers(got) != "[1 2]" || numbers(first) != "[1 2]" {
			t.Errorf("%s: %s", name, numbers(got))
		}
	}
}

func page(t *testing.T, rows []receivers.Row, name string, cursor *string) batch.List[Receiver] {
	t.Helper()
	q := url.Values{"limit": {"2"}}
	if cursor != nil {
		q.Set(name, *cursor)
	}
	list, err := receiverPage(slices.Clone(rows), q)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// numbers returns the instances of the rows.
func numbers(list batch.List[Receiver]) string {
	all := []int64{}
	for _, r := range list.Records {
		all = append(all, r.ID.Instance())
	}
	return fmt.Sprint(all)
}
