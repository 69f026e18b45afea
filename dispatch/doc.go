// Package dispatch delivers webhooks. It moves finished bodies to URLs and
// knows neither what an instance nor what a batch is.
//
// # Two ways
//
// An event leaves for each of its destinations separately. In memory, a [Queue] tries
// once. From the file, a [Relay] delivers what is pending, the batch events of the outbox
// and the durable events of instances from package delivery, until it is accepted or
// expires.
//
// # Events in memory
//
// A [Queue] holds events in memory: 1000 places, 10 workers, one POST each, no retry. A
// place is one delivery, which is an event for one destination. There is no promise about
// order. A crash loses the queued events.
//
// A plan decides which destination gets a worker next. It does the same for the lanes of
// the relay, where workers are called slots. Destinations are distinguished by host and
// port, whichever webhook names them. Those with a waiting delivery take turns. While others wait, a destination has at most
// PerDestination in flight. A worker that no other destination needs goes to one that
// accepted the last time, or was never tried, until an attempt fails or hangs. What is
// known of a destination is remembered for at least a minute.
//
// A receiver that stops answering holds its workers until the first of its deliveries is
// late. While another destination has answered within ten seconds, a destination
// therefore gets more workers only as it answers. One that is silent for longer than
// usual (twice its longest recent answer, at least 20 ms) is in doubt and keeps the
// workers it has. A destination in doubt gets a second worker only while those in doubt
// hold fewer than a quarter of the workers together, and one that was never tried gets a
// first one while they hold fewer than half. Beyond PerDestination, a destination must
// have answered since it was last at rest, or have had that many in flight before. As
// long as the others have as many answers a second as there are workers, three workers of
// ten are reserved for those that need no more than PerDestination.
//
// A delivery that has had no answer for a second lends its worker to destinations that
// answer. A delivery to a destination that hung last time does so from the start. As many
// workers can be lent as there are. While receivers hang, up to twice as many deliveries
// may therefore be in flight, but never more than there are workers to one destination,
// and those that hang delay the others by at most that second.
//
// The places are shared. When all are taken, the destination that holds most loses: a new
// delivery to it is refused with ErrQueueFull, and one to another destination replaces
// its newest. Either is counted as dropped.
//
// A delivery goes to the address that its destination had when the event came. Further
// endpoints are the exception: a waiting delivery goes to the endpoint's current address,
// and is cancelled if the endpoint was removed.
//
// The queue reports each delivery and its outcome to the log of package delivery, and
// never waits for the log.
//
// # Batch events
//
// The relay delivers the outbox at least once. Entries commit with the change that they
// report. The relay is woken by the commit, reads the entries by sequence, and marks each
// as delivered in a later commit. It uses the commit of another caller if one comes
// within 20 ms, so that marks cost few commits of their own. An entry whose mark was lost
// in a crash is delivered again with the same bytes; that concerns at most the last few
// hundred. While the receiver accepts, the events of one batch arrive in order, since a
// batch has at most one delivery in flight. An entry in backoff does not delay the
// others. Attempts, the last outcome and the next time are in the file, so a restart does
// not change them. No entry is given up, and a first attempt waits for no time. After the clock went back by more than a minute,
// in a run or between two, no entry waits for a time that was set before; a time further
// away than the longest pause was set under a clock that was ahead, and counts as now. An
// operator can make one entry or all due at once. Entries that ended are removed after
// the retention or, if their batch was removed, once they were published. A pending entry
// of a removed batch is removed when it is delivered, and never otherwise.
//
// A breaker protects the URL. After five failures in a row which show that the receiver
// is down, one probe at a time is sent, every 5 s in the first 15 minutes and every
// minute after that, so that a backlog costs nothing during the outage. A probe is the
// oldest entry of its batch, and batches take turns. Its success releases all waiting
// entries, the oldest of a batch first, whether due or not: the delayed events of a batch
// arrive in order. If a receiver answers but refuses the first entries for longer than 15
// minutes, some probes use a later entry, so that events which it cannot accept do not
// block all others forever.
//
// # Durable events of instances
//
// They are delivered at least once, until they expire, starting with the commit that
// stored their cause. Each destination is a lane with its own board, breaker and backlog.
// A lane runs the same code as the outbox: it asks a small interface what is due, what is
// pending and what an attempt led to. The rules above for attempts, backoff, breaker and
// probes therefore hold for each lane, where an entry is a line of its own. Outcomes of
// all lanes share commits; an outcome that other deliveries wait for, in an order or
// behind a failure, requests its own commit. The newest events are kept in memory, 8 MiB
// of bodies, so that they are not read for each destination. Whether a delivery is still
// pending is always read from the file.
//
// A lane keeps an order through what is due: of a line, which is a chat or an instance,
// package delivery shows the first record, and the commit that ends it shows the next.
// The order therefore survives failures, expiry, cancellation and kills, and needs no
// memory. After an accepted delivery, the next of its line is sent before the outcome is
// in the file (ahead.go), up to 64 in a row, so that a line is as fast as its receiver
// instead of taking a commit for each event. If a kill loses outcomes, their events are
// sent again, from the first of them on. The same code runs live and after a restart: the
// tail reads stored events by sequence, publishes the numbered ones to WebSockets in that
// order, and hands each lane what may be sent. The code that ends a delivery hands the
// lane the next one. Another pass over the index finds what had no room in memory.
//
// A lane wakes when a delivery is pending for it, and sleeps, without goroutine or
// memory, after a minute without one. Its address, headers and secrets are looked up
// before each attempt: waiting deliveries go to the current address, and at once if that
// changed. While the destination is disabled, nothing is attempted, and waiting
// deliveries are sent when it is enabled. When the destination is removed, an attempt
// under way is cut off and waiting deliveries are cancelled in small commits, each of
// which checks whether the destination exists again.
//
// At most 10 deliveries are in flight to a destination. The limit is 2 if it has not
// answered since it failed or since the lane woke, and 2 if it answers within two
// milliseconds. All lanes together, except that of the outbox, have 512 slots, which the
// plan assigns to receivers, identified by host and port, by the rules for the workers of
// the queue, with 32 in place of PerDestination. Lanes that lead to one receiver take
// turns. Receivers that did not accept the last time, or were never tried, have at most
// 256 slots, without lent ones, and get no more while 768 deliveries are in flight. Dead
// receivers therefore do not use up what the others need. A receiver has at most 32 in
// flight while its last answer took longer than a second or none has come yet, and at
// most 32 that have waited that long for an answer. The lane of the outbox has slots of
// its own, so that no other receiver delays it.
//
// Expiry is an event of its own. One alarm is set for the earliest expiry in the file,
// and every start checks for expired deliveries before anything is sent. A delivery in
// flight expires too and releases what waits behind it; it becomes delivered if it is
// accepted after all. Nothing is sent after its expiry.
//
// A manual retry of a waiting delivery goes before the others and makes an open breaker
// probe at once. A manual retry of an ended delivery, and a replay to a destination that
// is not durable, are one attempt each, outside of all orders, and do not wait for a
// breaker.
//
// # The sender
//
// All use a [Sender]: one POST without redirects, proxies or compression, through a
// dialer whose [Guard] checks the resolved address. The timeout covers the whole answer:
// a 2xx counts if its body ends, or exceeds 64 KiB, in time. An answer that continues
// until the timeout is a failure, and so is one that breaks off. If an answer takes over
// the connection (101), its body is not read, since no timeout would end that.
//
// The headers are only those of the event's flow, unless the consumer chose more for the
// destination: custom headers, which never replace one of ours and are omitted if they
// are invalid; webhook-id, the event's id, the same at every attempt and for every
// destination; and with a secret the timestamp and signature of Standard Webhooks,
// computed for each attempt. An event that cannot be signed is not sent. The beginning of
// an answer that is not 2xx is kept for the log.
package dispatch
