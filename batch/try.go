package batch

import (
	"context"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/batch/table"
	"postern/event"
	"postern/store"
)

// Trial is what a batch would be. Nothing of it is stored.
type Trial struct {
	View

	Malformed []Malformed
	Examples  []Example
	Numbers   []string // the first normalised recipients
	Pauses    time.Duration
}

// Malformed is a recipient that a creation refuses.
type Malformed struct {
	Index *int   `json:"index,omitempty" doc:"Where it is in recipients, from 0." example:"3" rules:"minimum=0"`
	Row   *int   `json:"row,omitempty" doc:"Its row in the file; the header is row 1." example:"5" rules:"minimum=1"`
	Input string `json:"input" doc:"The recipient as given." example:"12"`
	Error string `json:"error" doc:"What is wrong with it." example:"a phone number has 7 to 15 digits"`
}

// Example is what one recipient would get.
type Example struct {
	Position  int    `json:"position" doc:"The position of its item in the batch, from 0." example:"0" rules:"minimum=0"`
	Recipient string `json:"recipient" doc:"The recipient, normalized." example:"$phone"`
	Text      string `json:"text" doc:"The text, or the caption, the title or the name, of the message." example:"Hello Ana"`
}

// randomExamples is how many examples are chosen at random, besides the first and the longest.
const randomExamples = 3

// Try checks a creation, and returns what the batch would be, with numbers of its recipients at
// most. Malformed recipients are returned instead of refused. A large one waits for its turn
// among creations. Errors are *InvalidError and ErrCreating.
func (e *Engine) Try(ctx context.Context, owner uuid.UUID, r CreateRequest, numbers int) (Trial, error) {
	t := Trial{Malformed: []Malformed{}, Examples: []Example{}, Numbers: []string{}}
	if given := r.given(); given.Len() > chunk {
		leave, err := e.creations.enter(ctx, owner, given.Size())
		if err != nil {
			return t, err
		}
		defer leave()
	}
	b, to, err := e.prepare(ctx, owner, r, &t.Malformed)
	if err != nil {
		return t, err
	}
	c, err := mailing.ParseContent(b.message, b.spec.Options.Spin)
	if err != nil {
		return t, invalid(InvalidMessage, err.Error())
	}
	for i := range min(to.Len(), numbers) {
		t.Numbers = append(t.Numbers, to.Number(i))
	}
	for _, i := range e.exemplary(b.id, c, to) {
		t.Examples = append(t.Examples, Example{i, to.Number(i), to.Text(c, b.id, i)})
	}
	d := b.spec.Options.Delay
	t.Pauses = time.Duration(max(0, to.Len()-1)) * time.Duration(d.MinMs+d.MaxMs) * time.Millisecond / 2
	t.View = b.view(e.states(b.spec), e.now())
	return t, nil
}

// exemplary returns which recipients are examples: the first, that with the longest text, and some at
// random.
func (e *Engine) exemplary(id uuid.UUID, c *mailing.Content, to mailing.Chosen) []int {
	if to.Len() == 0 {
		return nil
	}
	longest, most := 0, 0
	for i := range to.Len() {
		if n := utf8.RuneCountInString(to.Text(c, id, i)); n > most {
			longest, most = i, n
		}
		if !c.Templated() {
			break // all are the same
		}
	}
	all := []int{0}
	if longest != 0 {
		all = append(all, longest)
	}
	for range randomExamples {
		if i := int(e.random(id, int64(to.Len()))); !slices.Contains(all, i) {
			all = append(all, i)
		}
	}
	return all
}

// Draft returns the creation of a draft as it is now. Errors are ErrNotFound and
// *table.TransitionError.
func (e *Engine) Draft(owner, id uuid.UUID) (r CreateRequest, created View, err error) {
	err = e.cfg.Store.View(func(tx *store.Tx) error {
		b, err := e.Shown(owner, nil).load(tx, id)
		if err != nil {
			return err
		}
		if b.Status != event.BatchDraft {
			return &table.TransitionError{Status: b.Status, Trigger: table.OnCheck}
		}
		list, err := b.selected(tx, RetryRequest{Status: []record.ItemStatus{record.ItemPending}})
		r = CreateRequest{
			Name: b.spec.Name, Instances: b.spec.Instances, List: list, Message: b.message.Message, Original: b.message.Original, More: b.message.More, Options: b.spec.Options, Quoted: b.message.Quoted,
			AutoResume: &b.AutoResume, ExternalAttributes: b.message.Attributes, Schedule: b.spec.Schedule,
		}
		created = b.view(make([]event.State, len(b.spec.Instances)), tx.Now())
		return err
	})
	return r, created, err
}
