// Package migrate imports accounts from another gateway: the devices of the client
// library's SQL store, or of Baileys' files, with the data of the program around them.
// An imported account need not be paired again.
//
// # Guarantees
//
// A [Plan] reads the whole source and writes nothing. Each account of it is complete and
// validated by the rules of the packages that store it, so that storing can fail only for
// lack of disk space. Unreadable data stops the plan, with its page or line. Rows that
// break a rule, and data that Postern does not store, are left out and listed in
// [Account.Left], never dropped silently.
//
// The source must not change meanwhile: see [Plan.Unchanged]. Accounts are read in groups
// of [groupBytes], each in one pass over the source, so that memory does not grow with
// the number of accounts.
//
// # Session safety
//
// The client library stores a session before the message that it encrypted leaves.
// So an intact source contains no key that was already used. This no longer holds after the
// first message that either program sends: only one of them may ever run with these
// sessions again.
package migrate
