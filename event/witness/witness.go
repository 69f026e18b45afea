// Package witness holds the bodies of events against their published schemas,
// in tests, by a library that has no part in making the schemas. No program
// links it.
package witness

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// ErrInvalid is wrapped by every error that is about the body or its kind.
var ErrInvalid = errors.New("event body breaks its schema")

// timeLayout is the one form of times in events; that of the format date-time
// leaves more open.
const timeLayout = "2006-01-02T15:04:05.000Z"

// Witness knows the schemas of events. It is safe for concurrent use.
type Witness[Kind ~string] struct {
	schema func(Kind) ([]byte, error)

	mu       sync.Mutex
	compiled map[Kind]*jsonschema.Schema
}

// New returns a witness that asks schema once for each kind, usually
// event.SchemaJSON. What is not JSON of an object is no schema.
func New[Kind ~string](schema func(Kind) ([]byte, error)) *Witness[Kind] {
	return &Witness[Kind]{schema: schema, compiled: map[Kind]*jsonschema.Schema{}}
}

// Check tells what about the body the schema of its kind does not allow, and
// whether an object in it has a key twice or a text is not UTF-8. The error
// names the place by its JSON pointer, as in "/data/counts/total".
func (w *Witness[Kind]) Check(kind Kind, body []byte) error {
	schema, err := w.compile(kind)
	if err == nil {
		err = fit(schema, body)
	}
	if err != nil {
		return fmt.Errorf("%w: %.100q: %w", ErrInvalid, string(kind), err)
	}
	return nil
}

func fit(schema *jsonschema.Schema, body []byte) error {
	if _, err := jsontext.NewDecoder(bytes.NewReader(body)).ReadValue(); err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func (w *Witness[Kind]) compile(kind Kind) (*jsonschema.Schema, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.compiled[kind]; s != nil {
		return s, nil
	}
	text, err := w.schema(kind)
	if err != nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, errors.New("there is no such event")
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.RegisterFormat(&jsonschema.Format{Name: "date-time", Validate: checkTime})
	const name = "event.json"
	if err := c.AddResource(name, value); err != nil {
		return nil, err
	}
	s, err := c.Compile(name)
	if err == nil {
		w.compiled[kind] = s
	}
	return s, err
}

func checkTime(v any) error {
	if s, ok := v.(string); ok {
		_, err := time.Parse(timeLayout, s)
		return err
	}
	return nil
}
