// Package messages stores the messages, contacts and chats of all instances: it keeps
// what arrives and what is sent, answers lists and searches, and removes what is older
// than the retention.
//
// # What is stored together
//
// [Archive] is the only writer of its buckets. A message, its indexes, its events and the
// deliveries of these are one commit, made by the writer of the source that the caller
// gives ([publish.Source]): a crash leaves all of them or none. What else belongs into
// that commit is the caller's [Keeping].InCommit. Events are published after the commit.
//
// Calls go down: package instance hands messages, receipts, history and contacts to the
// archive after it has applied its settings; the archive never calls back, except that it
// asks Config.Owner in a commit whether the instance still exists.
//
// A message stores the id of its durable event, so that a message that WhatsApp resends
// for lack of an acknowledgement is not published under another id.
//
// # Receipts
//
// A receipt for a message that this program is sending waits for it ([Archive.Departing]).
// Other receipts are looked up a few times, in the background, and then dropped.
//
// # Chats
//
// A chat is named by phone JID, LID or both, and its messages may be stored under either.
// Lists follow both names. Live messages of a chat are ordered as they were stored, after
// all history messages, which are ordered by time.
//
// # Timers
//
// A chat's disappearing timer is kept whether or not its messages are. Of several settings the one
// that was made last wins, wherever it comes from; [Archive.Timers] belongs into the commit of
// what shows it.
//
// # Contacts
//
// A contact has one id, whether known by phone JID, LID or both. If two records turn out
// to be one person, the lower id remains. The LID identifies the account: a number that
// appears with another LID has passed to another person, who is another contact.
//
// # Buckets
//
//	message         instance + message id    -> JSON of the message, when it was stored, and whether it was deleted
//	message_key     instance + key id, 0, chat -> message id
//	message_chat    instance + chat, 0, message id -> nothing; the chat's LID, else its JID.
//	                Of history: instance + chat, 0, number 0, Unix seconds, message id
//	message_chat_name  instance + a chat's name, 0, its other name -> nothing; 0 alone -> the index is complete
//	chat_timer      instance + an address of a chat -> JSON of the newest setting of its timer
//	poll_vote       instance + key id of a poll, 0, message id of a vote -> nothing
//	message_awaited instance + message id    -> when WhatsApp took a message to a person, and whether it has a receipt
//	message_update  instance + message id + n -> JSON of one update
//	contact         instance + contact id    -> JSON of the contact
//	contact_jid     instance + JID           -> contact id; phone JID and LID each
//
// Ids are big-endian 64-bit numbers that count from 1 and are never reused.
package messages
