// Package batch sends one message to many recipients, durably.
//
// # The flow
//
// Create stores a batch with all its items. A worker claims it, gives one item
// after the other to an online instance of the batch, sends it and records the
// result, until the last one ended, somebody pauses or stops the batch, its
// window closes or no instance is left. A batch that waits for something holds
// no goroutine: a timer, [Engine.InstanceChanged] or an API call wakes it.
//
// # What it promises
//
// Every change is one row of the table in state.go and one commit: the batch,
// its item, its attempt and the events of that row are in the file together or
// not at all. Events are written through store.Tx.Emit and leave from there;
// this package knows nothing of receivers.
//
// An item is sent at most once. SENDING, with the instance and a fresh message
// id, is committed before a byte leaves, and an item found in SENDING after a
// crash becomes UNKNOWN and is never sent again. When no delay is due, the
// result of one item and the SENDING of the next share a commit, so an item
// costs one. With a delay SENDING is committed after it, so that nothing that
// was never sent is ever in doubt.
//
// The last few items of a batch at work are kept in its header, which every
// commit writes anyway, and move to their own place together. Readers see no
// difference: they take the newer of the two.
//
// # What a crash loses
//
// Nothing that a caller was told. The one item of each batch that was on its
// way is UNKNOWN afterwards: whether it arrived, nobody can say. A creation
// that had not finished leaves no batch; its items are swept at the next start.
//
// # Who owns what
//
// A worker is the only one to move the items of its batch while the batch is
// PROCESSING, PAUSE_REQUESTED or STOP_REQUESTED. API calls change only the
// status, and the worker sees it at its next safe point. Each claim raises the
// batch's fencing number, and every commit of a worker checks it: a send that
// comes back after its lease was taken changes nothing.
package batch
