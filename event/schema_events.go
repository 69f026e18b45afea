package event

import (
	"reflect"
	"slices"
)

func dataSchema(kind Kind) object {
	d, _ := Lookup(kind)
	return Schemas{}.data(d)
}

func (b Schemas) data(d Descriptor) object {
	t := d.payload.data
	if d.Family == Batch {
		return b.batch(d)
	}
	switch d.Kind {
	case MessagesUpsert:
		if b.Ref != nil {
			return b.schema(t) // the two fields that are never there are optional
		}
		data := b.structure(t)
		drop(data, "instanceId", "externalAttributes")
		return data
	case SendMessage:
		return object{"oneOf": []object{b.schema(t), b.schema(reflect.TypeFor[SendResult]()), b.schema(reflect.TypeFor[ScheduledFailure]())}}
	default:
		return b.schema(t)
	}
}

func (b Schemas) batch(d Descriptor) object {
	if d.payload.code != "" {
		return b.item(d.payload.code)
	}
	data := b.structure(reflect.TypeFor[BatchData]())
	shape := b.full(d)
	full := shape
	switch d.Kind {
	case BatchProgress:
		shape = object{"oneOf": []object{full, b.shape(reflect.TypeFor[BatchProgressReduced](), d.payload.status)}}
	case BatchCompletedWithErrors:
		shape = object{"oneOf": []object{full, b.shape(reflect.TypeFor[BatchCompletedReduced](), d.payload.status)}}
	default:
	}
	b.refine(propertiesOf(data), "batch", shape)
	return data
}

// full is the full shape of a batch in an event: with Ref, the shape that all events
// share and what this one has besides; else only the fields of this one.
func (b Schemas) full(d Descriptor) object {
	t := reflect.TypeFor[BatchView]()
	own := d.payload.own
	if b.Ref != nil {
		if shared := b.Ref(t); shared != nil {
			status := object{"const": string(d.payload.status), "description": "The status that the event announces."}
			required := append([]string{"status"}, own...)
			slices.Sort(required)
			return object{"allOf": []object{shared, {"type": "object", "properties": object{"status": status}, "required": required}}}
		}
	}
	full := b.shape(t, d.payload.status)
	for _, name := range batchOwn() {
		if slices.Contains(own, name) {
			require(full, name)
		} else {
			drop(full, name)
		}
	}
	return full
}

// batchOwn lists the fields that only some batch events have.
func batchOwn() (all []string) {
	for _, d := range Catalogue() {
		all = append(all, d.payload.own...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// shape is the schema of a batch in the events that announce a status.
func (b Schemas) shape(t reflect.Type, status BatchStatus) object {
	shape := b.structure(t)
	b.fix(shape, "status", string(status))
	counts := b.structure(reflect.TypeFor[BatchCounts]())
	drop(counts, "received", "duplicatesIgnored")
	b.refine(propertiesOf(shape), "counts", counts)
	return shape
}

func (b Schemas) item(code string) object {
	data := b.structure(reflect.TypeFor[BatchItemData]())
	failure := b.structure(reflect.TypeFor[BatchItemError]())
	b.fix(failure, "code", code)
	b.refine(propertiesOf(data), "error", failure)
	return data
}
