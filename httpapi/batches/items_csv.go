package batches

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"
	"time"

	"postern/batch"
	"postern/event"
	"postern/httpapi/rest"
	"postern/messages"
)

// csvColumn is a column of a file of items.
type csvColumn struct {
	name  string
	value func(csvRow) string
}

// csvRow is an item, with the result of its messages in a report.
type csvRow struct {
	batch.Row
	messages.Result
}

// itemColumns are the columns of an item before those of its variables.
func itemColumns() []csvColumn {
	return []csvColumn{
		{"position", func(i csvRow) string { return strconv.Itoa(i.Position) }},
		{"number", func(i csvRow) string { return i.NormalizedRecipient }},
		{"externalId", func(i csvRow) string { return i.ExternalID }},
		{"status", func(i csvRow) string { return string(i.Status) }},
		{"errorCode", func(i csvRow) string { return textOf(i.LastErrorCode) }},
		{"instance", func(i csvRow) string { return textOf(i.SelectedInstanceName) }},
		{"whatsappMessageId", func(i csvRow) string { return textOf(i.WhatsAppMessageID) }},
		{"processingStartedAt", func(i csvRow) string { return timeOf(i.ProcessingStartedAt) }},
		{"finishedAt", func(i csvRow) string { return timeOf(i.FinishedAt) }},
	}
}

// resultColumns are the further columns of a report.
func resultColumns() []csvColumn {
	return []csvColumn{
		{"deliveredAt", func(i csvRow) string { return resultTime(i.Delivered) }},
		{"readAt", func(i csvRow) string { return resultTime(i.Read) }},
		{"repliedAt", func(i csvRow) string { return resultTime(i.Replied) }},
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

func resultTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return event.At(t).String()
}

// itemsCSV writes the items of a batch as CSV, part by part as they are read.
func (a *API) itemsCSV(c *rest.Call) error {
	return a.writeCSV(c, "items", itemColumns(), func(part []batch.Row) ([]messages.Result, error) {
		return make([]messages.Result, len(part)), nil
	})
}

// reportCSV is itemsCSV with the results of the messages.
func (a *API) reportCSV(c *rest.Call) error {
	return a.writeCSV(c, "report", append(itemColumns(), resultColumns()...), func(part []batch.Row) ([]messages.Result, error) {
		sent := make([]batch.Sent, len(part))
		for i, row := range part {
			sent[i] = row.Sent
		}
		return a.results(sent)
	})
}

// writeCSV writes a row for each item, with the columns and then a column for each variable, under a byte order mark,
// by which spreadsheet programs know UTF-8. results has those of a part of the items. If the answer cannot be completed
// it breaks the connection.
func (a *API) writeCSV(c *rest.Call, name string, columns []csvColumn, results func([]batch.Row) ([]messages.Result, error)) error {
	id, err := c.UUID("id", batch.ErrNotFound)
	if err != nil {
		return err
	}
	variables, parts, err := a.shown(c).Rows(id)
	if err != nil {
		return err
	}
	for _, variable := range variables {
		columns = append(columns, csvColumn{variable, func(i csvRow) string { return i.Variables[variable] }})
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
		of, err := results(part)
		if err != nil {
			return c.BreakOff(err)
		}
		for i, row := range part {
			write(func(c csvColumn) string { return c.value(csvRow{row, of[i]}) })
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

// inert returns a cell that a spreadsheet program does not run as a formula, whichever characters the program
// separates cells by: where a formula begins, an apostrophe is put in front.
func inert(cell string) string {
	if !strings.ContainsAny(cell, formulas+"\t\r") {
		return cell
	}
	var out strings.Builder
	begins := true
	for i, c := range cell {
		if begins && strings.ContainsRune(formulas, c) || i == 0 && (c == '\t' || c == '\r') {
			out.WriteByte('\'')
		}
		out.WriteRune(c)
		begins = strings.ContainsRune(";|\t\r\n", c)
	}
	return out.String()
}

// formulas are what a formula begins with, also in the wide forms that programs in East Asia accept.
const formulas = "=+-@＝＋－＠"
