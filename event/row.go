package event

import "reflect"

// payload describes the data of an event.
type payload struct {
	data     reflect.Type // an item's type where data is an array
	examples func() []Example

	// Batch events only.
	status BatchStatus // that the event announces
	own    []string    // fields of the batch that no other event has
	code   string      // of the error, for the events of one item
}

// instanceEvent is the row of an instance event with data T. The method about of T
// returns the chat or person that the event concerns.
func instanceEvent[T subject](number byte, kind Kind, flag Flag, examples func() []Example, triggers ...string) Descriptor {
	return Descriptor{
		Kind: kind, Family: Instance, Flag: flag, Number: number, Triggers: triggers,
		payload: payload{data: reflect.TypeFor[T](), examples: examples},
	}
}

// arrayEvent is the row of an instance event whose data is an array of T.
func arrayEvent[T subject](number byte, kind Kind, flag Flag, examples func() []Example, triggers ...string) Descriptor {
	d := instanceEvent[T](number, kind, flag, examples, triggers...)
	d.Array = true
	return d
}

// gated is d for an event that exists only while the setting of g is on.
func (d Descriptor) gated(g Gate) Descriptor {
	d.Gate = g
	return d
}

// batchEvent is the row of an event that announces a status of a batch. own are the
// fields of [BatchView] that the event has besides those that all have.
func batchEvent(number byte, kind Kind, status BatchStatus, own ...string) Descriptor {
	return Descriptor{
		Kind: kind, Family: Batch, Number: number,
		payload: payload{data: reflect.TypeFor[BatchData](), examples: func() []Example { return batchExamples(kind, status) }, status: status, own: own},
	}
}

// batchItemEvent is the row of an event about an item of a batch that ended with an
// error.
func batchItemEvent(number byte, kind Kind, code string) Descriptor {
	return Descriptor{
		Kind: kind, Family: Batch, Number: number,
		payload: payload{data: reflect.TypeFor[BatchItemData](), examples: func() []Example { return batchItemExamples(code) }, code: code},
	}
}
