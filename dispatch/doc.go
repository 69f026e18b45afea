// Package dispatch delivers webhooks. It moves finished bodies to URLs and
// knows neither what an instance nor what a batch is.
//
// # Instance events
//
// A [Queue] holds them in memory: 1000 places, 10 workers, one POST each, no
// retry. A place is one delivery, an event for one destination. Nothing is
// promised about order. A crash loses what was queued.
//
// Destinations are lanes, told apart by host and port, whichever webhook names
// them. Those with something waiting take turns. While others wait, one has at
// most PerDestination in flight; a worker that nobody else wants goes to one
// that accepted the last time, or was never tried, until an attempt fails or
// hangs. What a destination proved is remembered for a minute at least.
//
// A delivery that has had no answer for a second lends its worker to
// destinations that answer, and one to a destination that hung last time does
// so from the start; as many as there are workers can be lent. Therefore up to
// twice as many deliveries may be in flight while receivers hang, never more
// than there are workers to one destination, and those that hang cost the
// others at most that second.
//
// The places are shared: when all are taken, whoever holds most pays. A
// newcomer of that destination is refused with ErrQueueFull; one of another
// takes the place of that destination's newest. Either is counted as dropped.
//
// # Batch events
//
// A [Relay] delivers the outbox at least once. Entries commit with the change
// that they tell of; the relay hears of the commit, reads them by sequence,
// and marks each as delivered in a later commit. An entry whose mark was lost
// in a crash is delivered again with the same bytes; that concerns at most the
// some hundred last ones. While the receiver accepts, the events of one batch
// arrive in order, since one batch has one delivery in flight at most; an
// entry in backoff does not hold back the others. Attempts, the last outcome
// and the next time live in the file, so a restart changes nothing about them.
// Nothing is given up. A next time further away than the longest pause was set
// under a clock that was ahead, and counts as now. An operator can make one
// entry or all due at once. Entries that ended are removed after the retention,
// or once they were published when their batch was removed; a pending one is
// removed by its delivery then, and never otherwise.
//
// A breaker stands before the URL: after five failures in a row that say the
// receiver is down, one probe at a time goes out, every 5 s in the first 15
// minutes and every minute after that, so that a backlog costs nothing while it
// lasts. A probe is the oldest entry of its batch, and batches take turns. Its
// success lets out everything that waits, the oldest of a batch first, whether
// due or not: the events of a batch that were held back arrive in order. Only a
// receiver that answers and refuses the first entries for longer than 15
// minutes is now and then sent a later one, lest events that it cannot take
// keep all others from it for ever.
//
// # The sender
//
// Both use a [Sender]: one POST without redirects, proxies, compression or
// credentials, through a dialer whose [Guard] looks at the address that was
// really resolved. The timeout covers the whole answer: a 2xx counts once its
// body has ended, or has gone past 64 KiB, in time. One that trickles on until
// the timeout is a failure, and so is one that breaks off.
package dispatch
