package batches

import (
	"postern/batch"
	"postern/event"
	"postern/httpapi/rest"
)

// Processing is the answer of the route of that name. It is never completely in memory: see showProcessing.
type Processing struct {
	batch.View

	Held       []batch.Held             `json:"held"`
	Recipients []batch.ItemWithAttempts `json:"recipients" doc:"All its items with their attempts, by position."`
}

// showProcessing writes a batch with the results of all its recipients, part by part as they are read. If the answer
// cannot be completed it breaks the connection, so that a partial answer never looks complete.
func (a *API) showProcessing(c *rest.Call) error {
	id, err := c.UUID("id", batch.ErrNotFound)
	if err != nil {
		return err
	}
	view, parts, err := a.shown(c).Processing(id)
	if err != nil {
		return err
	}
	text, err := event.Marshal(struct {
		batch.View

		Held []batch.Held `json:"held"`
	}{view, a.Engine.Held(view)})
	if err != nil {
		return err
	}
	text = append(text[:len(text)-1], `,"recipients":`...)
	before := byte('[') // what stands before the next record
	for part, err := range parts {
		if text, err = appendRecords(text, before, part, err); err != nil {
			return c.BreakOff(err)
		}
		if err := c.Response.More(text); err != nil {
			return err
		}
		text, before = text[:0], ','
	}
	if before == '[' { // all of them are damaged
		text = append(text, before)
	}
	return c.Response.More(append(text, "]}"...))
}

// appendRecords appends the records of a part, separated by commas and preceded by before, unless err says that they could
// not be read.
func appendRecords[T any](text []byte, before byte, part []T, err error) ([]byte, error) {
	if err != nil {
		return text, err
	}
	raw, err := event.Marshal(part)
	if err != nil {
		return text, err
	}
	text = append(text, before)
	return append(text, raw[1:len(raw)-1]...), nil
}
