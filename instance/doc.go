// Package instance keeps the instances: their records, tokens and webhook
// configurations, the messages and contacts that were stored for them, and their
// connections to WhatsApp.
//
// # Registry
//
// A [Registry] owns the buckets below and holds all records and webhook
// configurations in memory, filled at Open and replaced after each commit, so
// that no event and no status request reads the file.
//
// Report is the one way in for what happens on an account. It stores what the
// fact asks for in one commit, then makes the envelope from the new state and
// hands a notice with its destinations to Config.Publish. When the commit
// fails there is no event, and the error tells the connector not to
// acknowledge, so that the network sends a message again. A crash between the
// commit and the delivery loses the delivery, not the record: a destination that
// is not durable is tried once.
//
// For destinations that are durable, and for instances that are, the event is
// in that commit, with its final bytes and its snapshot as the commit leaves the
// instance: see telling. What stores nothing gets a commit for its event alone.
// So a crash leaves the cause and its event, or neither. Whoever changes state
// adds its events in the closure that stores it, and publishes after it.
//
// A message that WhatsApp sends again, since it did not hear of the commit, has
// the id of its durable event beside it and is not told under another one.
//
// # Supervisor
//
// A [Supervisor] owns the connections. The connector behind it dials when told
// and reports facts; the supervisor decides when to dial again, with
// exponential backoff and jitter, and keeps the stored status true: what a
// former life of the process stored is corrected before anything is served.
// Each instance has a keeper with one mutex and at most one goroutine that
// dials. Calls that connect, pair, restart, log out or delete take turns on it;
// those that end a connection cut a dial or its pause off rather than wait, and
// Interrupt ends those that wait for a phone.
//
// A proxy is tried before it is stored, and Registry.Via is asked before every
// dial. What it does not know for certain is not dialled: a proxy that cannot be
// read keeps its instance offline until it is set anew or deleted.
//
// An instance whose device belongs to another network than the program is connected to
// stays as it is, offline, and nothing dials it. A device that WhatsApp logged out is
// kept for a while, and Restart tries it once more.
//
// A client that WhatsApp refuses as outdated is no matter of one instance:
// SupervisorConfig.Outdated looks for a newer version, and Renew has all dial
// again that were refused. Calls that connect wait for it.
//
// # Contacts
//
// A contact has one id, whether it is known by its phone JID, its LID or both.
// When two records turn out to be one person, the lower id stays. The LID is
// the account: a number that comes with another LID has passed to somebody
// else, who is another contact.
//
// # Buckets
//
//	instance        id                       -> JSON Record
//	instance_name   name                     -> id
//	webhook         id                       -> JSON Webhook
//	webhook_options id, 0: the global webhook -> JSON of how deliveries go out, with headers and secrets; none: the old way
//	instance_settings id                     -> JSON Settings; none: the default
//	proxy           id                       -> JSON of the URL with its password, and for what it is
//	call_answer     instance + caller        -> when the text that answers calls was last sent, in milliseconds
//	read_due        instance + n             -> JSON of a message that is to be marked as read
//	message         instance + message id    -> JSON of the message and when it was stored
//	message_key     instance + key id, 0, chat -> message id
//	message_chat    instance + chat, 0, message id -> nothing; the chat's LID, else its JID.
//	                Of history: instance + chat, 0, number 0, Unix seconds, message id
//	message_chat_name  instance + a chat's name, 0, its other name -> nothing; 0 alone -> the index is complete
//	message_update  instance + message id + n -> JSON of one update
//	processing      instance + process id    -> JSON of a send that was accepted and has not ended
//	contact         instance + contact id    -> JSON of the contact
//	contact_jid     instance + JID           -> contact id; phone JID and LID each
//
// Ids are big-endian 64-bit numbers that count from 1 and are never reused.
package instance
