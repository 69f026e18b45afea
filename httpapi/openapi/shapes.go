package openapi

import "reflect"

// Shape returns the schema of a type, see [Type]. It may refer to other schemas by ref.
type Shape = func(ref func(reflect.Type) Object) Object

// Words is the shape of a string with one of the given values.
func Words[S ~string](values ...S) Shape {
	return func(func(reflect.Type) Object) Object {
		o := OneOf(values...)
		o["type"] = "string"
		return o
	}
}

// AnyObject is the shape of an object with any fields.
func AnyObject(func(reflect.Type) Object) Object {
	return Object{"type": "object", "additionalProperties": true}
}
