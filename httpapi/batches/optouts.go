package batches

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"postern/batch/optout"
	"postern/batch/paging"
	"postern/event"
	"postern/httpapi/rest"
	"postern/internal/plural"
	"postern/internal/sheet"
)

// Bounds of what one call adds or removes.
const (
	MaxOptOuts           = 10_000   // numbers of a JSON body
	MaxOptOutRows        = 100_000  // of a table
	MaxOptOutTable       = 10 << 20 // bytes
	MaxOptOutText        = 255      // characters of a reason or a source
	codeInvalidRecipient = "INVALID_RECIPIENT"

	contentTypeCSV = "text/csv"
)

// OptOutRequest is the body that adds opt-outs.
type OptOutRequest struct {
	Numbers []string `json:"numbers" strict:"required"`
	Reason  string   `json:"reason"`
	Source  string   `json:"source"`
}

// OptInRequest is the body that removes opt-outs.
type OptInRequest struct {
	Numbers []string `json:"numbers" strict:"required"`
}

// AddedOptOuts is the answer to an addition.
type AddedOptOuts struct {
	Added    int `json:"added" doc:"How many people were added." example:"2" rules:"minimum=0"`
	Existing int `json:"existing" doc:"How many had opted out before; their entries were kept." example:"1" rules:"minimum=0"`
}

// RemovedOptOuts is the answer to a removal.
type RemovedOptOuts struct {
	Removed int `json:"removed" doc:"How many people were removed." example:"1" rules:"minimum=0"`
	Absent  int `json:"absent" doc:"How many had not opted out." example:"0" rules:"minimum=0"`
}

func (a *API) listOptOuts(c *rest.Call) error {
	q, err := c.Query([]string{"limit", "nextCursor", "previousCursor"})
	if err != nil {
		return err
	}
	page, err := rest.ReadPage(q)
	if err != nil {
		return err
	}
	found, err := a.OptOuts.List(c.User, paging.Page(page))
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, found)
}

func (a *API) addOptOuts(c *rest.Call) error {
	var in OptOutRequest
	if err := c.DecodeKeeping(&in, rest.MaxBody, MaxOptOuts+1); err != nil {
		return err
	}
	for _, text := range []struct{ field, value string }{{"reason", in.Reason}, {"source", in.Source}} {
		if err := checkOptOutText(text.field, text.value); err != nil {
			return err
		}
	}
	all, err := people(c, in.Numbers)
	if err != nil {
		return err
	}
	add := make([]optout.Addition, len(all))
	for i, to := range all {
		add[i] = optout.Addition{To: to, Reason: in.Reason, Source: in.Source}
	}
	return a.putOptOuts(c, add)
}

func (a *API) putOptOuts(c *rest.Call, all []optout.Addition) error {
	if err := a.Store.Admit(); err != nil {
		return err
	}
	n, err := a.OptOuts.Add(c.KeyContext(), c.User, all)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, AddedOptOuts{Added: n, Existing: len(all) - n})
}

func (a *API) removeOptOuts(c *rest.Call) error {
	var in OptInRequest
	if err := c.DecodeKeeping(&in, rest.MaxBody, MaxOptOuts+1); err != nil {
		return err
	}
	all, err := people(c, in.Numbers)
	if err != nil {
		return err
	}
	n, err := a.OptOuts.Remove(c.KeyContext(), c.User, all)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, RemovedOptOuts{Removed: n, Absent: len(all) - n})
}

// people reads the numbers of a body.
func people(c *rest.Call, numbers []string) ([]event.Recipient, error) {
	if n := len(numbers); n < 1 || n > MaxOptOuts {
		return nil, rest.InvalidField(fmt.Sprintf("numbers must have 1 to %d entries; a longer list is a table for POST /optouts/csv", MaxOptOuts))
	}
	all, wrong := make([]event.Recipient, 0, len(numbers)), problems{}
	for i, text := range numbers {
		to, err := somebody(text)
		if err != nil {
			wrong.add("numbers[%d] %v", i, err)
			continue
		}
		if err := c.MayWriteTo(to.JID()); err != nil {
			return nil, err
		}
		all = append(all, to)
	}
	return all, wrong.refusal()
}

// somebody reads the address of a person: a phone number or a LID.
func somebody(text string) (event.Recipient, error) {
	to, err := event.ParseRecipient(text)
	if err == nil && to.IsGroup() {
		err = fmt.Errorf("%w: a group cannot opt out", event.ErrRecipient)
	}
	return to, err
}

func checkOptOutText(field, text string) error {
	if n := utf8.RuneCountInString(text); n > MaxOptOutText {
		return rest.InvalidField(fmt.Sprintf("%s has %d characters, at most %d are allowed", field, n, MaxOptOutText))
	}
	return nil
}

// problems are the first invalid entries of a list.
type problems struct{ texts []string }

func (p *problems) full() bool { return len(p.texts) == rest.MaxMessages }

func (p *problems) add(format string, args ...any) {
	if !p.full() {
		p.texts = append(p.texts, fmt.Sprintf(format, args...))
	}
}

func (p *problems) refusal() error {
	if len(p.texts) == 0 {
		return nil
	}
	return rest.Refuse(http.StatusUnprocessableEntity, codeInvalidRecipient, p.texts...)
}

// importOptOuts adds the people of a table, which is the file of a form or the whole body.
func (a *API) importOptOuts(c *rest.Call) error {
	all, err := a.optOutTable(c)
	if err != nil {
		return err
	}
	return a.putOptOuts(c, all)
}

func (a *API) optOutTable(c *rest.Call) ([]optout.Addition, error) {
	if !rest.IsForm(c.Request.Header) {
		if kind, _, err := mime.ParseMediaType(c.Request.Header.Get("Content-Type")); err != nil || kind != contentTypeCSV {
			return nil, rest.Refuse(http.StatusUnsupportedMediaType, rest.CodeContentType, "the Content-Type must be multipart/form-data or text/csv")
		}
		_ = http.NewResponseController(c.Response).SetReadDeadline(time.Now().Add(rest.UploadTimeout))
		return readOptOuts(c, http.MaxBytesReader(c.Response, c.Request.Body, MaxOptOutTable))
	}
	f, err := c.ReadForm(a.Media.Spool, MaxOptOutTable)
	defer f.Discard()
	if err != nil {
		return nil, err
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return readOptOuts(c, file)
}

// readOptOuts reads a table of opt-outs: numbers, and reasons if there is a second column.
// A first row with the cell number names the columns; otherwise it is the first of them.
func readOptOuts(c *rest.Call, from io.Reader) (all []optout.Addition, err error) {
	table, err := sheet.New(from, "number")
	if err != nil {
		return nil, err
	}
	columns, wrong, cells := optOutColumns{0, 1}, problems{}, table.Header()
	if columns.named(cells) {
		cells, err = table.Read()
	}
	for ; err == nil; cells, err = table.Read() {
		one, err := columns.read(cells)
		if err != nil {
			wrong.add("row %d: %v", table.Row(), err)
			continue
		}
		if err := c.MayWriteTo(one.To.JID()); err != nil {
			return nil, err
		}
		if all = append(all, one); len(all) > MaxOptOutRows {
			return nil, rest.InvalidField(fmt.Sprintf("the table has more than %s; send it in parts", plural.Of(MaxOptOutRows, "row")))
		}
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, rest.Refuse(http.StatusRequestEntityTooLarge, rest.CodeBodyTooLarge, fmt.Sprintf("the table has more than %d bytes; send it in parts", MaxOptOutTable))
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(all) == 0 && len(wrong.texts) == 0 {
		return nil, rest.InvalidField("the table has no row with a number")
	}
	return all, wrong.refusal()
}

// optOutColumns are the columns of a table; below 0: none.
type optOutColumns struct{ number, reason int }

// named reports whether a row is a header, and takes the columns from it.
func (o *optOutColumns) named(cells []string) bool {
	found := optOutColumns{-1, -1}
	for i, cell := range cells {
		switch strings.ToLower(strings.TrimSpace(cell)) {
		case "number":
			found.number = i
		case "reason":
			found.reason = i
		}
	}
	if found.number < 0 {
		return false
	}
	*o = found
	return true
}

func (o optOutColumns) read(cells []string) (one optout.Addition, err error) {
	if o.number >= len(cells) {
		return one, fmt.Errorf("%w: there is no number", event.ErrRecipient)
	}
	if one.To, err = somebody(strings.TrimSpace(cells[o.number])); err != nil {
		return one, err
	}
	one.Source = "csv"
	if o.reason >= 0 && o.reason < len(cells) {
		one.Reason = strings.TrimSpace(cells[o.reason])
	}
	return one, checkOptOutText("reason", one.Reason)
}
