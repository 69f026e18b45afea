package openapi

import "reflect"

// Object is a part of a document.
type Object = map[string]any

// API is the input of the documents.
type API struct {
	Title, About, Version string
	// Server is the public address, empty if it is the address from which the document was loaded.
	Server string
	// Base is the path of that address, such as /postern, empty for none. It is used if Server is empty.
	Base string
	// DocumentPath and AliasesPath are the paths of the two OpenAPI documents.
	DocumentPath, AliasesPath string

	Tags        []Tag // in the order of the page
	Operations  []Operation
	Credentials map[string]Object // security schemes by name
	Codes       []Code
	Refusal     reflect.Type // the body of every refusal

	Types  map[reflect.Type]Type
	Fields Fields
	// Examples are values that many fields share, by the name that stands in their tags with a $ in front.
	Examples map[string]string

	Sockets []Socket
}

// Tag is a group of operations.
type Tag struct{ Name, About string }

// Credential is one credential that an operation accepts.
type Credential struct {
	Name   string   // of API.Credentials
	Scopes []string // of which it needs one; none: it has no scopes
}

// Operation is one method of one path.
type Operation struct {
	Method, Path string // parameters in braces
	ID           string // as a person would name it: sendText
	Tag          string
	Summary      string       // one sentence
	About        string       // more, or empty
	Credentials  []Credential // any of them opens it; none: it is open

	Query []string // parameters; a name in [Fields] with a question mark in front describes them
	Once  bool     // takes an Idempotency-Key

	In      reflect.Type // of a JSON body; nil: none
	Example string       // of that body, JSON
	Form    []string     // fields of a multipart body beside the file; nil: it takes none
	File    string       // the name of the file's part

	Answers []Answer // successes, the usual one first; a status may come again with another Media
	Codes   []string // of its refusals; CODE/STATUS for a code with its other status
	// Advice replaces the Next of codes whose limit differs by operation.
	Advice map[string]string

	Aliases []Alias
}

// Alias is an older path of an operation.
type Alias struct{ Path, ID string }

// Answer is a successful answer of an operation.
type Answer struct {
	Status int
	Type   reflect.Type // of a JSON body; nil: none
	Media  string       // of a body that is no JSON, or may be other than JSON
	About  string       // empty: the status text
}

// Code describes one machine code of the error body, for people.
type Code struct {
	Code    string
	Status  int    // of the answer
	Also    int    // another status that operations answer it with; 0: none
	Meaning string // what happened
	Next    string // what the caller does about it

	// RetryAfter is the value of the answer's Retry-After header, in seconds; 0: the answer has none, because
	// waiting alone would not help.
	RetryAfter int

	Sandbox bool // only the paths under /sandbox/ answer with it

	own bool // Next is the advice of one operation
}

// Type overrides the schema of a Go type in the documents. A zero field leaves that part to the type.
type Type struct {
	// Name of the component. A type with a Schema and without a Name is written inline.
	Name  string
	About string
	// Words is the type whose descriptions of fields it shares; nil: none.
	Words reflect.Type
	// Open allows other fields in a request; they are ignored.
	Open bool
	// Schema returns the schema; ref returns those of other types in the form of requests or, with Answers,
	// of answers.
	Schema  Shape
	Answers bool
}

// Socket is a WebSocket path.
type Socket struct {
	Name   string // of its channel: globalEvents
	ID     string // of the operation that is its handshake
	About  string
	Events []string // kinds; none: see Messages
	Union  string   // the component that is any of them

	Messages []Message // of a socket that sends no events
}

// Message is a kind of message of a socket that is not an event: a body whose field type has its name.
type Message struct {
	Name   string
	About  string
	Type   reflect.Type // of the body
	Fields []string     // that are there besides type
}
