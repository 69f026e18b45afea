// Package strict reads JSON and forgives nothing.
//
// encoding/json forgives too much for a contract: it matches names in any case,
// lets the last of two equal keys win, takes null for what must be there,
// ignores what it does not know, and repairs invalid UTF-8. Here each of these
// is an [Error] that names the field and the rule, as are missing fields,
// trailing data, and nesting beyond [nesting.Max].
//
// # What it promises
//
// What [Decode] accepts, encoding/json accepts too, and reads the same: a fuzz
// test holds the two together. A body is read once, as it arrives, and what is
// kept of it is no more than the struct has room for: [Options.MaxEntries]
// bounds its lists. Time grows with the length of the body and with nothing
// else.
//
// The grammar, equal names and the place of a mistake are jsontext's; what a
// struct takes, and the words for what it does not, are decided here.
//
// # How a struct says what it takes
//
// A field has its name in the tag json. It may be left out, or be null, which
// comes to the same, unless its tag strict is "required":
//
//	Name string `json:"name" strict:"required"`
package strict
