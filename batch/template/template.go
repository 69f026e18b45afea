// Package template reads the variables and the alternatives in the texts of a batch.
//
//	{{name}}           the value of a variable of the recipient
//	{{name|there}}     the same, or "there" when the value is empty or absent
//	{Hello|Hi|Hey}     one of several texts, when alternatives are read
//	{{{                the two characters {{
//
// A text is parsed once and rendered for each recipient. What comes from a value or a
// fallback is text: it is never parsed.
package template

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxName is the longest name of a variable, in characters.
	MaxName = 64

	maxDepth = 16 // of alternatives within alternatives
)

// Text is a parsed text. The zero value renders as the empty text.
type Text struct{ nodes []node }

// node is a piece of a text: literal, or a variable, or alternatives.
type node struct {
	literal  string
	variable *Variable
	choices  []Text
}

// Variable is one place of a text where a value goes.
type Variable struct {
	Name     string
	Fallback string
	Optional bool // there is a fallback, which may be empty
}

// Parse parses a text, with alternatives if asked to. Its error says what is wrong and
// how to write it.
func Parse(s string, alternatives bool) (Text, error) {
	p := parser{rest: s, whole: s, alternatives: alternatives}
	t, err := p.text(0)
	if err != nil {
		return Text{}, err
	}
	return t, nil
}

// Variables returns the variables of all alternatives, in their order.
func (t Text) Variables() []Variable {
	var all []Variable
	for _, n := range t.nodes {
		if n.variable != nil {
			all = append(all, *n.variable)
		}
		for _, c := range n.choices {
			all = append(all, c.Variables()...)
		}
	}
	return all
}

// Render returns the text with the values that value returns, empty for those that are
// absent. choose returns a number from 0 to n-1 for each alternative that is met, in
// order.
func (t Text) Render(value func(name string) string, choose func(n int) int) string {
	var b strings.Builder
	t.render(&b, value, choose)
	return b.String()
}

func (t Text) render(b *strings.Builder, value func(string) string, choose func(int) int) {
	for _, n := range t.nodes {
		switch {
		case n.variable != nil:
			v := value(n.variable.Name)
			if v == "" {
				v = n.variable.Fallback
			}
			b.WriteString(v)
		case n.choices != nil:
			n.choices[choose(len(n.choices))].render(b, value, choose)
		default:
			b.WriteString(n.literal)
		}
	}
}

// CheckName returns an error if a variable cannot have that name, which has no white
// space around it.
func CheckName(name string) error {
	if n := utf8.RuneCountInString(name); n < 1 || n > MaxName || strings.ContainsFunc(name, notOfName) {
		return fmt.Errorf("%.100q is not a name of a variable: 1 to %d letters, digits, spaces and characters of _ . -", name, MaxName)
	}
	return nil
}

func notOfName(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("_.- ", r)
}

type parser struct {
	whole, rest  string
	alternatives bool
}

// text parses up to the end, or within alternatives up to the | or } that ends one.
func (p *parser) text(depth int) (Text, error) {
	var t Text
	for p.rest != "" {
		switch {
		case strings.HasPrefix(p.rest, "{{{"):
			t.add("{{")
			p.rest = p.rest[len("{{{"):]
		case strings.HasPrefix(p.rest, "{{"):
			v, err := p.variable()
			if err != nil {
				return t, err
			}
			t.nodes = append(t.nodes, node{variable: &v})
		case p.alternatives && p.rest[0] == '{':
			if err := p.choices(&t, depth+1); err != nil {
				return t, err
			}
		case depth > 0 && (p.rest[0] == '|' || p.rest[0] == '}'):
			return t, nil
		default:
			n := 1
			if next := strings.IndexAny(p.rest[1:], "{|}"); next >= 0 {
				n += next
			} else {
				n = len(p.rest)
			}
			t.add(p.rest[:n])
			p.rest = p.rest[n:]
		}
	}
	return t, nil
}

// variable parses {{name}} or {{name|fallback}}.
func (p *parser) variable() (Variable, error) {
	inner, after, closed := strings.Cut(p.rest[len("{{"):], "}}")
	if !closed {
		return Variable{}, fmt.Errorf(`the {{ at character %d has no }}; write {{{ for the characters {{`, p.at())
	}
	name, fallback, optional := strings.Cut(inner, "|")
	v := Variable{Name: strings.TrimSpace(name), Fallback: strings.TrimSpace(fallback), Optional: optional}
	if err := CheckName(v.Name); err != nil {
		return v, fmt.Errorf("the {{ at character %d: %w; write {{{ for the characters {{", p.at(), err)
	}
	p.rest = after
	return v, nil
}

// choices parses {a|b}. Braces without a | between them, or without an end, are text.
func (p *parser) choices(t *Text, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("the { at character %d is within %d others; at most %d are allowed", p.at(), maxDepth, maxDepth)
	}
	var all []Text
	for opens := true; opens; opens = p.rest[0] == '|' {
		p.rest = p.rest[1:]
		c, err := p.text(depth)
		if err != nil {
			return err
		}
		all = append(all, c)
		if p.rest == "" {
			break
		}
	}
	closed := p.rest != ""
	if closed {
		p.rest = p.rest[1:]
	}
	if closed && len(all) > 1 {
		t.nodes = append(t.nodes, node{choices: all})
		return nil
	}
	t.add("{")
	for i, c := range all {
		if i > 0 {
			t.add("|")
		}
		t.nodes = append(t.nodes, c.nodes...)
	}
	if closed {
		t.add("}")
	}
	return nil
}

// add adds literal text.
func (t *Text) add(s string) { t.nodes = append(t.nodes, node{literal: s}) }

// at returns the number of the next character, from 1.
func (p *parser) at() int {
	return 1 + utf8.RuneCountInString(p.whole[:len(p.whole)-len(p.rest)])
}
