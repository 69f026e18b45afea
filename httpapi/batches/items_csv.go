package batches

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"

	"postern/batch"
	"postern/event"
	"postern/httpapi/rest"
)

// csvColumn is a column of a file of items.
type csvColumn struct {
	name  string
	value func(batch.Item) string
}

// itemColumns are the columns of an item before those of its variables.
func itemColumns() []csvColumn {
	return []csvColumn{
		{"position", func(i batch.Item) string { return strconv.Itoa(i.Position) }},
		{"number", func(i batch.Item) string { return i.NormalizedRecipient }},
		{"externalId", func(i batch.Item) string { return i.ExternalID }},
		{"status", func(i batch.Item) string { return string(i.Status) }},
		{"errorCode", func(i batch.Item) string { return textOf(i.LastErrorCode) }},
		{"instance", func(i batch.Item) string { return textOf(i.SelectedInstanceName) }},
		{"whatsappMessageId", func(i batch.Item) string { return textOf(i.WhatsAppMessageID) }},
		{"processingStartedAt", func(i batch.Item) string { return timeOf(i.ProcessingStartedAt) }},
		{"finishedAt", func(i batch.Item) string { return timeOf(i.FinishedAt) }},
	}
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func timeOf(t *event.Time) string {
	if t == nil {
		return ""
	}
	return t.String()
}

// itemsCSV writes the items of a batch as CSV, part by part as they are read.
func (a *API) itemsCSV(c *rest.Call) error { return a.writeCSV(c, "items", itemColumns()) }

// writeCSV writes a row for each item, with the columns and then a column for each variable, under a byte order mark,
// by which spreadsheet programs know UTF-8. If the answer cannot be completed it breaks the connection.
func (a *API) writeCSV(c *rest.Call, name string, columns []csvColumn) error {
	id, err := c.UUID("id", batch.ErrNotFound)
	if err != nil {
		return err
	}
	variables, parts, err := a.shown(c).Rows(id)
	if err != nil {
		return err
	}
	for _, variable := range variables {
		columns = append(columns, csvColumn{variable, func(i batch.Item) string { return i.Variables[variable] }})
	}
	text := bytes.NewBufferString("\ufeff")
	w := csv.NewWriter(text)
	w.UseCRLF = true
	row := make([]string, len(columns))
	write := func(cell func(csvColumn) string) {
		for i, column := range columns {
			row[i] = inert(cell(column))
		}
		_ = w.Write(row) // into memory
	}
	send := func() error {
		w.Flush()
		if c.Response.Status == 0 {
			c.Response.Header().Set("Content-Type", mediaCSV)
			c.Response.Header().Set("Content-Disposition", `attachment; filename="`+name+"-"+id.String()+`.csv"`)
		}
		_, err := c.Response.Write(text.Bytes())
		text.Reset()
		return err
	}
	write(func(c csvColumn) string { return c.name })
	for part, err := range parts {
		if err != nil {
			return c.BreakOff(err)
		}
		for _, item := range part {
			write(func(c csvColumn) string { return c.value(item) })
		}
		if err := send(); err != nil {
			return err
		}
	}
	if c.Response.Status == 0 { // all of them are damaged
		return send()
	}
	return nil
}

// mediaCSV is the type of a file of items.
const mediaCSV = "text/csv; charset=utf-8"

// inert returns a cell that a spreadsheet program does not run as a formula.
func inert(cell string) string {
	if cell != "" && strings.IndexByte("=+-@\t\r", cell[0]) >= 0 {
		return "'" + cell
	}
	return cell
}
