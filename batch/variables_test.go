package batch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/event"
	"postern/store"
)

// personal returns a request with a text and recipients that have variables, written as
// name=value pairs with commas between them.
func personal(text string, recipients ...string) CreateRequest {
	req := request(0)
	req.Message.Payload = fmt.Appendf(nil, `{"text":%q}`, text)
	req.List = &mailing.Recipients{}
	for i, pairs := range recipients {
		to := mailing.Recipient{Number: fmt.Sprintf("49151%08d", i), Variables: map[string]*string{}}
		for pair := range strings.SplitSeq(pairs, ",") {
			if name, value, is := strings.Cut(pair, "="); is {
				to.Variables[name] = &value
			}
		}
		req.List.Add(to)
	}
	return req
}

// texts returns what each recipient of a batch got, by position.
func (r *rig) texts(req CreateRequest) []string {
	r.Helper()
	got := map[string]string{}
	r.f.send = func(_ context.Context, _ int64, out event.Outgoing) error {
		r.f.mu.Lock()
		defer r.f.mu.Unlock()
		got[out.To] = out.Content.Text.Text
		return nil
	}
	r.create(req)
	r.status(event.BatchIsCompleted)
	var all []string
	for _, item := range r.items() {
		text := got[item.NormalizedRecipient+"@"+event.UserServer]
		if item.RenderedPreview != "" && item.RenderedPreview != beginning(text) {
			r.Errorf("the preview is %q of %q", item.RenderedPreview, text)
		}
		all = append(all, text)
	}
	return all
}

func TestEachRecipientGetsItsVariables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		req := personal("Hi {{name|there}}, {{ due }}{{empty}}! {a|b} {{{x}}", "name=Ana,due=3 May,empty=", "due={{name}} {a|b},empty=x", "name=,due=,empty=")
		req.List.Add(mailing.Recipient{Number: "+49 151 00000001", ExternalID: "again"}) // a duplicate: the first one counts
		want := []string{"Hi Ana, 3 May! {a|b} {{x}}", "Hi there, {{name}} {a|b}x! {a|b} {{x}}", "Hi there, ! {a|b} {{x}}"}
		if got := r.texts(req); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got %q", got)
		}
		items := r.items()
		if v := items[0]; v.Variables["due"] != "3 May" || v.Variables["name"] != "Ana" || len(v.Variables) != 3 || v.ExternalID != "" {
			t.Errorf("%+v", v)
		}
		if v := items[1]; v.ExternalID != "" || v.Variables["due"] != "{{name}} {a|b}" {
			t.Errorf("%+v", v)
		}
	})
}

func TestTextsAreSentAsTheyAreWithoutObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		req := request(1)
		req.Message.Payload = []byte(`{"text":"Hi {{name}} {a|b} {{"}`)
		if got := r.texts(req); got[0] != "Hi {{name}} {a|b} {{" {
			t.Errorf("got %q", got)
		}
		if v := r.items()[0]; v.RenderedPreview != "" || v.Variables != nil {
			t.Errorf("%+v", v)
		}
		if n := records(t, r.s, record.BucketDetails); n != 0 {
			t.Errorf("%d records of details", n)
		}
	})
}

func TestAlternativesAreChosenWithSpinOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		req := request(60)
		req.Message.Payload = []byte(`{"text":"{Hello|Hi|Hey}"}`)
		req.Options.Spin = true
		n := map[string]int{}
		for _, text := range r.texts(req) {
			n[text]++
		}
		if n["Hello"] < 8 || n["Hi"] < 8 || n["Hey"] < 8 || len(n) != 3 {
			t.Errorf("chosen: %v", n)
		}
	})
}

func TestMissingVariablesRefuseTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		long := strings.Repeat("x", mailing.MaxValue)
		many := personal("{{name}}")
		for i := range 150 {
			many.List.Add(mailing.Recipient{Number: fmt.Sprintf("49151%08d", i)})
		}
		mixed := personal("Hi {{name}}", "name=Ana")
		mixed.List.AddText([]byte("4915199999999"))
		spun := request(1)
		spun.Options.Spin, spun.Message.Payload = true, []byte(`{"text":"{Hi {{name}}|Hey}"}`)
		tooLong := personal(strings.Repeat("{{a}}", 70), "a="+long)
		for name, c := range map[string]struct {
			req  CreateRequest
			code string
			n    int
			want string
		}{
			"absent":             {personal("Hi {{name}} {{due}}", "name=Ana,due=x", "due=x"), MissingVariable, 1, `recipients[1] has no variable "name"`},
			"first hundred":      {many, MissingVariable, 100, `recipients[0] has no variable "name"`},
			"a number":           {mixed, MissingVariable, 1, `recipients[1] has no variable "name"`},
			"in an alternative":  {spun, MissingVariable, 1, `recipients[0] has no variable "name"`},
			"a text without end": {personal("Hi {{name", "name=Ana"), InvalidMessage, 1, "the {{ at character 4 has no }}"},
			"a rendered text":    {tooLong, InvalidMessage, 1, "recipients[0] message: invalid message content: text has 71680 characters, at most 65536"},
			"an empty text":      {personal("{{a}}", "a="), InvalidMessage, 1, "text must not be empty"},
			"a long value":       {personal("x", "a="+long+"x"), InvalidRecipient, 1, `"a" has 1025 characters, at most 1024`},
			"a name of signs":    {personal("x", "a$=1"), InvalidRecipient, 1, `"a$" is not a name of a variable`},
			"a name given twice": {personal("x", "a=1, a=2"), InvalidRecipient, 1, `names "a" twice`},
			"too many variables": {personal("x", strings.Repeat("v=1,", 1)+manyPairs(33)), InvalidRecipient, 1, "has 34 entries, at most 32"},
			"a long external id": {withExternalID(strings.Repeat("é", 256)), InvalidRecipient, 1, "externalId has 256 characters"},
		} {
			_, err := r.e.Create(t.Context(), owner, c.req)
			if refused, ok := errors.AsType[*InvalidError](err); !ok || refused.Code != c.code || len(refused.Messages) != c.n || !strings.Contains(refused.Messages[0], c.want) {
				t.Errorf("%s: %.300v", name, err)
			}
		}
		if n := records(t, r.s, record.BucketItem) + records(t, r.s, record.BucketDetails) + records(t, r.s, record.BucketCreating); n != 0 {
			t.Errorf("refused creations left %d records", n)
		}
	})
}

func manyPairs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "v%d=1,", i)
	}
	return b.String()
}

func withExternalID(id string) CreateRequest {
	req := personal("x")
	req.List.Add(mailing.Recipient{Number: "4915112345678", ExternalID: id})
	return req
}

func TestAnItemWithoutItsDetailsIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		req := personal("Hi {{name|there}}", "name=Ana", "name=Bo", "name=Cy")
		no := false
		req.AutoStart = &no
		v := r.create(req)
		err := r.s.Update(t.Context(), func(tx *store.Tx) error {
			return errors.Join(tx.Delete(record.BucketDetails, record.ItemKey(v.ID, 1)), tx.Put(record.BucketDetails, record.ItemKey(v.ID, 2), []byte{99}))
		})
		if err != nil {
			t.Fatal(err)
		}
		r.do(r.e.StartBatch)
		r.status(event.BatchIsWithErrors)
		for i, want := range []record.ItemStatus{record.ItemSuccess, record.ItemFailed, record.ItemFailed} {
			if item := r.items()[i]; item.Status != want || want == record.ItemFailed && *item.LastErrorCode != record.CodeDamaged {
				t.Errorf("item %d: %+v", i, item)
			}
		}
	})
}

// beginning returns the first 200 characters of a text, which a preview shows.
func beginning(text string) string {
	r := []rune(text)
	return string(r[:min(len(r), 200)])
}
