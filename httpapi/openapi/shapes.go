package openapi

import "reflect"

// Shape makes the schema of a type, as [Type] has it. It may refer to the schemas
// of others by ref.
type Shape = func(ref func(reflect.Type) Object) Object

// Words is the shape of a text that is one of values.
func Words[S ~string](values ...S) Shape {
	return func(func(reflect.Type) Object) Object {
		o := OneOf(values...)
		o["type"] = "string"
		return o
	}
}

// AnyObject is the shape of an object that may have any fields.
func AnyObject(func(reflect.Type) Object) Object {
	return Object{"type": "object", "additionalProperties": true}
}
