// Package openapi writes the documents of the HTTP interface: OpenAPI 3.1 for
// requests and webhooks, AsyncAPI 3.0 for WebSockets, and the page for people.
//
// # Sources
//
// An [API] consists of tables: operations with the Go types of their bodies and
// answers, error codes, and field descriptions. Schemas are derived from the types,
// by the same tags that the decoder of requests and the encoder of answers use, so
// code and document have the same fields. The tags doc, example and rules of a field
// add what its type cannot express:
//
//	Width int `json:"width" doc:"Width in pixels." example:"1280" rules:"minimum=0"`
//
// A row of [Fields] does the same for a name with one meaning everywhere, for a
// parameter, and for a field whose limits are constants or whose text is too long for
// a tag. [Build] reports fields without a description, descriptions without a field,
// and other gaps; the caller's tests require these lists to be empty.
//
// # Shared schemas
//
// Every struct and enumeration becomes a component named after its Go type. A
// struct used in both requests and answers has two schemas, because in answers a
// field is present unless optional, and in requests it is optional unless required;
// the schema of requests is named …Input.
package openapi
