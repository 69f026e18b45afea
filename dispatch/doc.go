// Package dispatch delivers webhooks. It moves finished bodies to URLs and
// knows neither what an instance nor what a batch is.
//
// # Two ways
//
// An event leaves for each of its destinations on its own. The old way is
// memory: a [Queue] tries once. The durable way is the file: a [Relay] delivers
// what is pending there, batch events of the outbox and durable events
// of instances from package delivery, until it was accepted or its time is over.
//
// # Events in memory
//
// A [Queue] holds them in memory: 1000 places, 10 workers, one POST each, no
// retry. A place is one delivery, an event for one destination. Nothing is
// promised about order. A crash loses what was queued.
//
// Destinations are told apart by host and port, whichever webhook names
// them. Those with something waiting take turns. While others wait, one has at
// most PerDestination in flight; a worker that nobody else wants goes to one
// that accepted the last time, or was never tried, until an attempt fails or
// hangs. What a destination proved is remembered for a minute at least.
//
// A receiver that stops answering holds its workers until the first of its
// deliveries is late. So while another destination has answered within ten
// seconds, a destination gets more workers only as it answers. One that is
// silent for longer than usual (twice its longest answer of late, at least 20 ms)
// keeps the workers it has; those in doubt get a second one only while they hold
// fewer than a quarter of the workers together, and one that was never tried a
// first one while they hold fewer than half. Beyond PerDestination a destination
// has to have answered since it last was at rest, or to have had that many in
// flight before; and as long as the others have as many answers a second as there
// are workers, three workers of ten are left to those that need no more than
// PerDestination.
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
// A delivery goes where its destination was when the event came, but for further
// endpoints: what waits for one goes to where that leads now, and is cancelled when
// it was removed.
//
// The log of package delivery is told of each delivery and of how it ended, and
// never waited for.
//
// # Batch events
//
// The relay delivers the outbox at least once. Entries commit with the change
// that they tell of; the relay hears of the commit, reads them by sequence,
// and marks each as delivered in a later commit: that of somebody else when one
// comes within 20 ms, so that marks cost few commits of their own. An entry whose
// mark was lost in a crash is delivered again with the same bytes; that concerns
// at most the some hundred last ones. While the receiver accepts, the events of one batch
// arrive in order, since one batch has one delivery in flight at most; an
// entry in backoff does not hold back the others. Attempts, the last outcome
// and the next time live in the file, so a restart changes nothing about them.
// Nothing is given up. After the clock went back by more than a minute, in a run or between
// two, nothing waits for a time that was set before, and one further away than the longest pause was set
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
// # Durable events of instances
//
// They are delivered at least once, until their time is over, from the commit on
// that stored what they tell of. Each destination is a lane with a board, a
// breaker and a backlog of its own, run by the code that runs the outbox: the
// lane only asks a small interface what is due, what is pending and what became
// of an attempt. So all that is said above of attempts, backoff, breaker and
// probes holds for each lane, where an entry is a line of its own. Outcomes of all
// lanes share commits; one that others wait for, in an order or behind a failure,
// asks for its own. The newest events are kept in memory, 8 MiB of bodies, so that
// they are not read for each destination; whether a delivery still waits is.
//
// A lane keeps an order by what is due at all: of a line, which is a chat or an
// instance, package delivery shows the first, and the commit that ends it shows
// the next. Therefore the order holds through failures, expiry, cancellation and
// kills, and none of it is in memory. What was accepted lets the next of its line out
// before the file has it (ahead.go), up to 64 in a row, so that a line is as fast as
// its receiver and not as slow as a commit for each event; what a kill takes of the
// outcomes comes again, from the first of them on. Live and after a restart the same code runs:
// the tail reads stored events by sequence, publishes those with a number to
// WebSockets in that order, and hands each lane what may leave; whoever ends a
// delivery hands it what follows. What finds no room in memory is found by
// another pass over the index.
//
// A lane wakes when something is pending for it, and sleeps, without goroutine or
// memory, when for a minute nothing was. Where it leads, with which headers and
// secrets, is asked before each attempt: what waits goes to the address of today,
// and at once when that changed. While the destination is disabled nothing is
// attempted, and what waits goes out when it is enabled; when it was removed, an
// attempt under way is cut off and what waits is cancelled in small commits, each
// of which looks whether the destination has come back.
//
// At most 10 deliveries are in flight to a destination, 2 as long as it has not
// answered since it failed, or since the lane woke, and 2 to one that answers
// within two milliseconds. All lanes together have 512
// places, of which 256 are for lanes that proved nothing, and 64 more for probes
// of those held to be down. A delivery without an answer for a second lends its
// place, as often as there are places. Lanes that found none take turns. So
// receivers that are dead do not use up what the others need. A receiver to which
// many lanes lead, told by its host and port, has at most 32 in flight while its
// last answer took longer than a second, or none has come yet, and no more than 32
// that long without an answer; its lanes take turns too.
//
// Expiry is an event of its own, by one alarm for the earliest in the file, and every
// start looks for it before anything leaves. A delivery that is in flight expires too,
// and frees what waits behind it; it becomes delivered if it is accepted after all.
// Nothing is sent after its time.
//
// A retry by hand of what waits goes before the others and has an open breaker
// probe at once. One of what had ended, and a replay to a destination that is not
// durable, are one attempt, outside of all orders, and wait for no breaker.
//
// # The sender
//
// All use a [Sender]: one POST without redirects, proxies or compression, through a dialer whose [Guard] looks at the address that was
// really resolved. The timeout covers the whole answer: a 2xx counts once its
// body has ended, or has gone past 64 KiB, in time. One that trickles on until
// the timeout is a failure, and so is one that breaks off. Of one that takes the
// connection over (101) nothing is read: no timeout would end that.
//
// The headers are those of the event's flow and nothing else, until the consumer
// chose more for the destination: headers of its own, which never replace one of
// ours and are left out when they are none; webhook-id, the event's id, the same
// at every attempt and for every destination; and with a secret the timestamp and
// signature of Standard Webhooks, made for each attempt. What cannot be signed is
// not sent. The beginning of an answer that is not 2xx is kept for the log.
package dispatch
