// Package instance manages the instances: their records, tokens, settings and proxies,
// and their connections to WhatsApp. Package automatic does what the settings ask for,
// package messages stores their messages and contacts, package webhooks has where their
// events go.
//
// # Registry
//
// A [Registry] owns the buckets below and holds all records in memory, filled at Open and
// replaced after each commit, so that no event and no status request reads the file.
//
// [Registry.Report] is the single entry point for facts about an account. It applies the
// settings of the instance, and stores the fact in one commit, those about messages and
// contacts by package messages. The event has the new state in its envelope; a notice with
// its destinations is passed to Config.Publish. If the commit fails there is no event, and
// the error makes the connector withhold the acknowledgement, so that the network resends
// the message. A crash between the commit and the delivery loses the delivery but not the
// record: destinations that are not durable are tried once.
//
// For durable destinations and instances the event is part of that commit, with its final
// bytes and the snapshot of the instance as the commit leaves it: see [publish.Writer].
// Facts that store nothing get a commit for their event alone. So a crash leaves both the
// cause and its event, or neither. Code that changes state adds its events in the closure
// that stores the change, and publishes after the commit.
//
// # Supervisor
//
// A [Supervisor] owns the connections. The connector dials on request and reports facts;
// the supervisor decides when to dial again, with exponential backoff and jitter, and
// keeps the stored status correct: states stored by a previous process are corrected
// before anything is served. Each instance has a keeper with one mutex and at most one
// dialling goroutine. Calls that connect, pair, restart, log out or delete take turns on
// it. Calls that end a connection interrupt a dial or its pause instead of waiting, and
// Interrupt ends calls that wait for a phone.
//
// A proxy is tested before it is stored, and Registry.Via is consulted before every dial.
// An unreadable proxy keeps its instance offline until it is set again or deleted.
//
// An instance whose device belongs to another network than the program's is kept offline
// and never dialled. A device that WhatsApp logged out is retained for a while, and
// Restart tries it once more.
//
// A client rejected as outdated affects all instances: SupervisorConfig.Outdated looks
// for a newer version, and Renew makes all rejected instances dial again. Calls that
// connect wait for it.
//
// # Buckets
//
//	instance        id                       -> JSON Record
//	instance_name   name                     -> id
//	instance_settings id                     -> JSON Settings; none: the default
//	proxy           id                       -> JSON of the URL with its password, and for what it is
//
// Ids are big-endian 64-bit numbers that count from 1 and are never reused.
package instance
