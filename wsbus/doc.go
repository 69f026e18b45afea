// Package wsbus is the WebSocket hub: it sends each event to the clients that
// subscribed to it, byte for byte as the webhook has it.
//
// Publishing never waits. A live client has a bounded queue; one whose queue is
// full, that takes no message in time, or that does not answer pings is closed
// and costs the others nothing. Within one connection messages keep the order
// in which they were published.
//
// # Position
//
// The batch events of a user are numbered from 1 without holes, and each is
// stored before it is published; so are the events of a durable instance. A
// client of those therefore has a position: the sequence of the last event that
// it was told of or chose not to hear. It is registered first, then its position
// is fixed, by since or as the newest sequence, and from then on it gets every
// later event once:
//
//   - While it is behind, it is written to straight from the store, page by
//     page. Nothing is queued meanwhile, so however slowly it reads, the memory
//     it takes is one page, and new events cannot make it "too slow".
//   - When the store has nothing after its position that was published, it goes
//     live, in one critical section with publishing. What was published before
//     is at or before the position, and what is published later is queued, but
//     for events that the store had told it of already.
//
// Events that were removed together with their batches are gaps. A client with
// since is told of those before it in the answer to its handshake, so that it
// can count on: its position is what it started from, the messages that it got,
// and the gaps that it came past. Any other event that ought to follow the
// position and is not kept any more, a gap that came up later among them, ends
// the connection rather than be passed over; asking anew then tells of the gap,
// or gives ErrGone.
//
// An instance may become durable while clients are connected, and cease to be.
// Its numbers go on where they were. What was never stored has none: it is
// published once, to clients that are behind too, who get it when they are live. A
// client with since, which counts, never gets such an event: it is closed with 4008,
// and the reason is its position in digits. It comes back with that.
//
// # Feeds
//
// A client of ServeFeed takes its messages from who has them, one when it took the one
// before. Nothing is queued here; whether it keeps up is for its messages to say, and
// for the time in which each has to be taken.
//
// # Ends
//
// Close codes: 1001 the program stops, 1002 the client broke the protocol, 1008
// it sent data, 1011 the store cannot be read, 4001 its token expired, 4003 its
// token was revoked, 4008 it read too slowly, answered no ping, or has to come back
// for an event without a number. At a stop what
// is queued is still sent, for a second at most.
//
// # Cost
//
// A client that has nothing to do holds three goroutines, two small buffers and
// no queue; no request or answer of net/http stays with it.
package wsbus
