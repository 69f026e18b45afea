package table

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Column is a column of a table as CREATE TABLE describes it.
type Column struct {
	Name    string
	Default any // for rows that were written before the column was added: a literal as in Row, else nil

	integer bool // of the type INTEGER, in exactly this word
}

// Definition is a parsed CREATE TABLE statement.
type Definition struct {
	Name    string
	Columns []Column
	// RowID is the column that is SQLite's row id, -1 for none.
	RowID int
	// Keyed is set for a table WITHOUT ROWID, which SQLite stores differently.
	Keyed bool
	// Generated is set if columns are computed and not all stored.
	Generated bool
}

// Names returns the names of the columns.
func (d *Definition) Names() []string {
	names := make([]string, len(d.Columns))
	for i, c := range d.Columns {
		names[i] = c.Name
	}
	return names
}

// ParseCreate reads a CREATE TABLE statement of SQLite or PostgreSQL. The error
// says what was expected.
func ParseCreate(sql string) (*Definition, error) {
	words, err := Words(sql)
	if err != nil {
		return nil, err
	}
	p := &creation{words: words}
	if !p.keyword("CREATE") {
		return nil, errors.New("it does not begin with CREATE")
	}
	for p.keyword("TEMP") || p.keyword("TEMPORARY") || p.keyword("UNLOGGED") {
	}
	if !p.keyword("TABLE") {
		return nil, errors.New("it creates no table")
	}
	if p.keyword("IF") {
		p.at += 2 // NOT EXISTS
	}
	d := &Definition{RowID: -1}
	if d.Name, err = p.name(); err != nil {
		return nil, err
	}
	if !p.symbol("(") {
		return nil, fmt.Errorf("table %.100q has no list of columns", d.Name)
	}
	for {
		if err := d.add(p.definition()); err != nil {
			return nil, err
		}
		if p.symbol(",") {
			continue
		}
		if !p.symbol(")") {
			return nil, fmt.Errorf("unterminated column list of table %.100q", d.Name)
		}
		break
	}
	for ; p.at < len(p.words); p.at++ {
		d.Keyed = d.Keyed || p.is("WITHOUT")
	}
	return d, nil
}

// creation is the state of the parser.
type creation struct {
	words []Word
	at    int
}

func (p *creation) is(keyword string) bool {
	return p.at < len(p.words) && p.words[p.at].Keyword(keyword)
}

func (p *creation) keyword(keyword string) bool {
	found := p.is(keyword)
	if found {
		p.at++
	}
	return found
}

func (p *creation) symbol(s string) bool {
	found := p.at < len(p.words) && p.words[p.at].Symbol(s)
	if found {
		p.at++
	}
	return found
}

// name reads a name, of which the part before a dot is a schema.
func (p *creation) name() (string, error) {
	for {
		if p.at >= len(p.words) || !p.words[p.at].Named() {
			return "", errors.New("a name is missing")
		}
		name := p.words[p.at].Text
		p.at++
		if !p.symbol(".") {
			return name, nil
		}
	}
}

// definition returns the words up to the next comma or the end of the list.
func (p *creation) definition() []Word {
	from, depth := p.at, 0
	for ; p.at < len(p.words); p.at++ {
		w := p.words[p.at]
		switch {
		case w.Symbol("("):
			depth++
		case w.Symbol(")") && depth > 0:
			depth--
		case depth == 0 && (w.Symbol(",") || w.Symbol(")")):
			return p.words[from:p.at]
		}
	}
	return p.words[from:p.at]
}

// tableRules are the words that begin a table constraint.
var tableRules = []string{"CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "EXCLUDE", "LIKE"}

// add adds the definition of a column or a table constraint.
func (d *Definition) add(words []Word) error {
	if len(words) == 0 || !words[0].Named() {
		return fmt.Errorf("a column of table %.100q has no name", d.Name)
	}
	if slices.ContainsFunc(tableRules, words[0].Keyword) {
		d.addRule(words)
		return nil
	}
	c := Column{Name: words[0].Text, integer: len(words) > 1 && words[1].Keyword("INTEGER")}
	depth := 0
	for i, w := range words[1:] {
		switch {
		case w.Symbol("("):
			depth++
		case w.Symbol(")"):
			depth--
		case depth > 0:
		case w.Keyword("DEFAULT"):
			c.Default = literal(words[i+2:])
		case w.Keyword("PRIMARY") && c.integer:
			d.RowID = len(d.Columns)
		case w.Keyword("GENERATED"), w.Keyword("AS"):
			d.Generated = true
		}
	}
	d.Columns = append(d.Columns, c)
	return nil
}

// addRule looks for a primary key of one column, which is the row id if
// its type is INTEGER.
func (d *Definition) addRule(words []Word) {
	i := slices.IndexFunc(words, func(w Word) bool { return w.Keyword("PRIMARY") })
	if i < 0 || len(words) < i+5 || !words[i+2].Symbol("(") || slices.ContainsFunc(words[i:], func(w Word) bool { return w.Symbol(",") }) {
		return
	}
	for at, c := range d.Columns {
		if c.integer && strings.EqualFold(c.Name, words[i+3].Text) {
			d.RowID = at
		}
	}
}

// literal returns the value at the beginning of words; nil when it is computed.
func literal(words []Word) any {
	if len(words) > 1 && words[0].Symbol("(") {
		return literal(words[1:])
	}
	sign := ""
	if len(words) > 1 && words[0].Symbol("-") {
		sign, words = "-", words[1:]
	}
	if len(words) == 0 {
		return nil
	}
	switch w := words[0]; {
	case w.Kind == Number:
		return number(sign + w.Text)
	case w.Kind == String:
		return w.Text
	case w.Kind == Blob:
		raw, _ := hex.DecodeString(w.Text) // held by Words
		return raw
	case w.Keyword("TRUE"):
		return int64(1)
	case w.Keyword("FALSE"):
		return int64(0)
	}
	return nil
}

func number(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil || strings.Contains(err.Error(), "range") {
		return f
	}
	return nil
}
