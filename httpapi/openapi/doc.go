// Package openapi writes the documents of the HTTP interface: OpenAPI 3.1 for
// requests and webhooks, AsyncAPI 3.0 for WebSockets, and the page for people.
//
// # Where a document comes from
//
// An [API] is tables: operations with the Go types of their bodies and answers,
// error codes, and what fields mean. Schemas are made from the types, by the
// same tags that the decoder of requests and the encoder of answers obey, so a
// field cannot be in one and not in the other. What a type cannot say stands in
// [Fields]: a sentence, an example, limits. [Build] reports which fields have no
// such words, which words have no field, and what else the tables lack; the
// tests of the caller hold these lists empty.
//
// # Shared schemas
//
// Every struct and enumeration becomes a component that is named after its Go
// type. A struct that occurs in requests and in answers has two schemas, for in
// answers a field is there unless it is optional, and in requests it may be
// left out unless it is required; the one of requests is called …Input.
package openapi
