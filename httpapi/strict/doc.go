// Package strict decodes JSON strictly.
//
// encoding/json is too lenient for an API: it matches names in any case, lets the
// last of two equal keys win, accepts null for required fields, ignores unknown
// fields, and repairs invalid UTF-8. Here each of these
// is an [Error] that names the field and the rule, as are missing fields,
// trailing data, and nesting beyond [nesting.Max].
//
// # Guarantees
//
// Every document that [Decode] accepts, encoding/json accepts with the same result:
// a fuzz test compares the two. A body is read once, as it arrives, and no more of
// it is kept than the struct holds: [Options.MaxEntries] limits its lists. Time is
// linear in the length of the body.
//
// jsontext handles the grammar, duplicate names and error positions; this package
// matches values to the struct and words the errors.
//
// # Struct tags
//
// A field has its name in the tag json. It is optional, and null counts as absent,
// unless its type is a NullTaker or its tag strict is "required":
//
//	Name string `json:"name" strict:"required"`
package strict
