package batches

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"postern/batch/mailing"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
	"postern/internal/plural"
	"postern/internal/sheet"
)

// CodeInvalidCSV is the code of a file whose rows cannot be read.
const CodeInvalidCSV = "INVALID_CSV"

// csvMapping says which columns of a file are what of a recipient.
type csvMapping struct {
	Number     string            `json:"number"`
	ExternalID string            `json:"externalId"`
	Variables  map[string]string `json:"variables"` // columns by variable; nil: every other column is one
}

// createBatchFromCSV creates a batch whose recipients are the rows of a file. The rows are read as they arrive.
func (a *API) createBatchFromCSV(c *rest.Call) error {
	var in BatchRequest
	var mapping csvMapping
	part := func(name string, most int64, v any) func(io.Reader) error {
		return func(r io.Reader) error {
			body := http.MaxBytesReader(c.Response, io.NopCloser(r), most)
			err := strict.Decode(body, v, strict.Options{MaxEntries: MaxInstances + 1})
			if e, ok := errors.AsType[*strict.Error](err); ok {
				return e.In(name) // also a syntax error, which is of this part and not of the body
			}
			return err
		}
	}
	err := c.ReadParts(a.maxBody()+rest.MaxFormField,
		rest.Part{Name: "batch", Read: part("batch", BatchBodyBase, &in.BatchPlan)},
		rest.Part{Name: "mapping", Optional: true, Read: part("mapping", rest.MaxFormField, &mapping)},
		rest.Part{Name: "file", Read: func(r io.Reader) error { return mapping.read(r, &in.Recipients, a.MaxRecipients+1) }},
	)
	if err != nil {
		return err
	}
	return a.create(c, &in)
}

// read adds the rows of a file to the recipients, at most so many of them. It reads the others, too: whether a retry of
// the request is one depends on all of its body.
func (m csvMapping) read(file io.Reader, to *mailing.Recipients, most int) error {
	rows, err := sheet.New(file, m.wanted()...)
	if err != nil {
		return err
	}
	columns, err := m.find(rows)
	if err != nil {
		return err
	}
	to.Rows(m.number())
	for {
		cells, err := rows.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case to.Len() < most:
			to.Add(columns.recipient(cells))
		}
	}
}

// wanted returns the columns that the file must have.
func (m csvMapping) wanted() []string {
	all := slices.Collect(maps.Values(m.Variables))
	if m.ExternalID != "" {
		all = append(all, m.ExternalID)
	}
	return append(all, m.number())
}

func (m csvMapping) number() string { return cmp.Or(m.Number, "number") }

// csvColumns are the columns of a file that are read.
type csvColumns struct {
	number     int
	externalID int // -1: none
	variables  []int
	values     []string // of the row, in the order of variables
	to         mailing.Recipient
}

// find finds the columns. A column that is mapped must be there.
func (m csvMapping) find(rows *sheet.Reader) (*csvColumns, error) {
	c := &csvColumns{externalID: slices.Index(rows.Header(), "externalId")}
	var err error
	if c.number, err = rows.Column(m.number()); err != nil {
		return nil, fmt.Errorf("%w; mapping.number names the column of the phone numbers", err)
	}
	if m.ExternalID != "" {
		if c.externalID, err = rows.Column(m.ExternalID); err != nil {
			return nil, fmt.Errorf("mapping.externalId: %w", err)
		}
	}
	variables := m.Variables
	if variables == nil {
		variables, err = everyOther(rows, c.number, c.externalID)
	} else {
		err = checkVariables(variables)
	}
	if err != nil {
		return nil, err
	}
	c.values = make([]string, len(variables))
	c.to.Variables = make(map[string]*string, len(variables))
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		column, err := rows.Column(variables[name])
		if err != nil {
			return nil, fmt.Errorf("mapping.variables: %w", err)
		}
		c.to.Variables[name] = &c.values[len(c.variables)]
		c.variables = append(c.variables, column)
	}
	return c, nil
}

// everyOther makes each column that has a name a variable, except two.
func everyOther(rows *sheet.Reader, number, externalID int) (variables map[string]string, err error) {
	variables = map[string]string{}
	for i, name := range rows.Header() {
		if name == "" || i == number || i == externalID {
			continue
		}
		if err := mailing.CheckVariable(name); err != nil {
			return nil, &sheet.Error{Row: 1, Column: name, Text: fmt.Sprintf("cannot be a variable: %v; rename it, or name the columns to use in mapping.variables", err)}
		}
		variables[name] = name
	}
	if n := len(variables); n > mailing.MaxVariables {
		return nil, &sheet.Error{Row: 1, Text: fmt.Sprintf("would have %s, at most %d are allowed; name the columns to use in mapping.variables", plural.Of(n, "variable"), mailing.MaxVariables)}
	}
	return variables, nil
}

// checkVariables checks the names that a mapping gives to columns.
func checkVariables(mapped map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(mapped)) {
		if err := mailing.CheckVariable(name); err != nil {
			return rest.Refuse(http.StatusUnprocessableEntity, CodeInvalidCSV, "mapping.variables: "+err.Error())
		}
	}
	return nil
}

// recipient returns the recipient of a row, valid until the next call.
func (c *csvColumns) recipient(cells []string) mailing.Recipient {
	c.to.Number = cells[c.number]
	if c.externalID >= 0 {
		c.to.ExternalID = cells[c.externalID]
	}
	for i, column := range c.variables {
		c.values[i] = cells[column]
	}
	return c.to
}
