// Package batch sends one message to many recipients, durably.
//
// # The flow
//
// Create stores a batch with all its items. A worker claims it, gives one item
// after the other to an online instance of the batch, sends it and records the
// result, until the last one ended, someone pauses or stops the batch, its
// window closes or no instance is left. A batch that waits for something holds
// no goroutine: a timer, [Engine.InstanceChanged], [Engine.GateChanged] or an API
// call wakes it.
//
// # Guarantees
//
// Every change is one row of the table in package table and one commit: the batch,
// its item, its attempt and the events of that row are in the file together or
// not at all. Events are written through outbox.Outbox.Emit; this package does not
// deliver them.
//
// An item is sent at most once. SENDING, with the instance and a fresh message
// id, is committed before a byte leaves, and an item found in SENDING after a
// crash becomes UNKNOWN and is never sent again. When no delay is due, the
// result of one item and the SENDING of the next share a commit, so an item
// costs one. With a delay, SENDING is committed after the delay, so that an item that
// was never sent is never uncertain.
//
// An item whose recipient opted out of the batches of its user is skipped in the commit
// that would make it SENDING, which reads the opt-outs (package optout). If that commit
// also has the result of the item before, it is both rows.
//
// The last few items of a batch at work are kept in its header, which every
// commit writes anyway, and move to their own place together. Readers see no
// difference: they take the newer of the two.
//
// # Instances
//
// An item goes to one of its batch's instances, chosen at random among those
// that are online and not benched. WhatsApp benches an instance by restricting
// its account: until the time that it names, a day when it names none, or until
// it lifts the restriction. When no instance is left the batch waits without
// polling: the change of an instance wakes it, and so does an alarm at the end of a
// bench. An instance that could not send although it is reported online is
// not used by that batch until it has changed, or until a backoff that
// doubles from a second to a minute has passed.
//
// # The clock
//
// Windows and the times of a gate use the wall clock; delays and pauses use the
// monotonic clock. A waiting batch reads the clock every minute and does nothing
// else; if the clock was set, the batch checks again what it may do.
//
// # Leases
//
// An instance sends one message at a time. A message that is prepared or waits
// for its turn has not left: a pause, a stop, the window's end or the end of the
// program cancels it and makes its item PENDING again, and so does the end of
// TurnTimeout. This wait counts neither for SendTimeout
// nor for the lease.
//
// A send gets a context. If it ignores that, the lease ends the wait:
// the item is UNKNOWN, the batch INTERRUPTED, and with autoResume it continues
// at once. The result of the late send is dropped.
//
// # What a crash loses
//
// Nothing that a caller got as an answer. The one item of each batch that was on its
// way is UNKNOWN afterwards, since it may have arrived. A creation
// that had not finished leaves no batch; its items are swept at the next start.
//
// # Deletion
//
// A final batch is deleted by its owner, or when Config.Retention has ended. One
// commit removes it from all lists and leaves two marks: the outbox removes its
// events once they are delivered, and remove removes its items and attempts, in
// small commits. After a crash the marks make the next start continue. An id is
// never used again.
//
// # Lists
//
// A list looks at a bounded number of records for one page, whatever its filter:
// a page may be short, or empty, and have a cursor to continue with. Totals of lists
// without a filter, or by status, come from numbers that each commit keeps. Where a
// filter has to be checked against more records than one call looks at, the total is
// what was counted, and the list says that there may be more. A file of a release
// without these numbers is counted after the start, in small commits.
//
// # Changes
//
// While a batch is a draft, scheduled or paused, a call may change its name, delay, schedule
// and instances. That raises the edition in its header, in the same commit. Who read the
// batch before, a worker or a call, finds another edition in its own commit, and reads it
// again. Instances that were removed keep their name and their share of the items.
//
// Recipients that are appended to a draft are written behind its last item, which no reader
// sees, and one commit makes them its own.
//
// # Ownership
//
// A worker is the only one to move the items of its batch while the batch is
// PROCESSING, PAUSE_REQUESTED or STOP_REQUESTED. API calls change only the
// status, and the worker sees it at its next safe point. Each claim raises the
// batch's fencing number, and every commit of a worker checks it: a send that
// comes back after its lease was taken changes nothing.
//
// # Buckets
//
//	batch           batch                       -> status, counts, times, fencing number, the last items (binary)
//	batch_spec      batch                       -> JSON of owner, name, instances, those it had before, options, schedule
//	batch_message   batch                       -> JSON of the message, its attributes, what it answers, the names of its variables
//	batch_item      batch + position            -> recipient, status, outcome (binary); the header may hold a newer one
//	batch_details   batch + position            -> external id and variables of a recipient that has any (binary); never changed
//	batch_attempt   batch + position + number   -> JSON of instance and outcome; the last attempt is in the item
//	batch_owner     owner + batch               -> when it was made, its name, its instances (binary)
//	batch_open      batch                       -> the scoped keys that it was created and last started with (binary), or nothing; absent once the batch is final
//	batch_creating  batch                       -> nothing; a creation or an append under way, swept at start
//	batch_removing  batch                       -> nothing; deleted, with records left to remove
//	batch_ended     owner + status + batch      -> nothing; a final batch
//	batch_number    all, or owner               -> JSON: how many batches there are in each status
//
// Ids are UUIDs of 16 bytes, positions and numbers big-endian.
package batch
