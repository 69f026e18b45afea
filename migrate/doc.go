// Package migrate takes accounts over from another gateway: the devices of the client
// library's SQL store, or of Baileys' files, with what the program around them knew.
// An account that comes here needs not be paired again.
//
// # What it promises
//
// A [Plan] reads all and writes nothing. Each account of it is complete and held
// against the rules of what stores it, so that storing can fail for want of room
// alone. What cannot be read stops the plan, with its page or line. A row that breaks
// a rule is left out, and what has no place here as well; both are named in the
// account's [Account.Left], never dropped silently.
//
// The source must not change meanwhile: see [Plan.Unchanged]. Accounts are gathered
// in groups of [groupBytes], each in one pass over the source, so that memory does not
// grow with the number of accounts.
//
// # What is safe to take over
//
// The client library stores a session before the message that it encrypted leaves.
// So a source that is whole has no key that was used. That ends with the first
// message that either program sends: only one of them may ever run with these
// sessions again.
package migrate
