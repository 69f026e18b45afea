// Package wsbus is the WebSocket hub: it sends each event to the clients that
// subscribed to it, byte for byte as the webhook has it.
//
// Publishing never waits. A live client has a bounded queue; one whose queue is
// full, that takes no message in time, or that does not answer pings is closed
// without an effect on the others. Within one connection messages keep the order
// in which they were published.
//
// # Position
//
// The batch events of a user are numbered from 1 without gaps, and each is
// stored before it is published; so are the events of a durable instance. A
// client of those therefore has a position: the sequence of the last event that
// it received or did not subscribe to. It is registered first, then its position
// is fixed, by since or as the newest sequence, and from then on it gets every
// later event once:
//
//   - While it is behind, events are written to it from the store, page by
//     page. Nothing is queued, so a slow client needs the memory of one page,
//     and new events cannot make it "too slow".
//   - When the store has nothing after its position that was published, it goes
//     live, in one critical section with publishing. What was published before
//     is at or before the position, and what is published later is queued, except
//     events that it already received from the store.
//
// Events that were removed together with their batches are gaps. A client with
// since gets the list of those before it in the answer to its handshake, so that it
// can keep counting: its position is its start, plus the messages that it received,
// plus the gaps that it passed. Any other removed event after the position,
// including a later gap, ends the connection instead of being skipped; connecting again then reports the gap,
// or fails with ErrGone.
//
// An instance may become durable while clients are connected, or cease to be.
// Its numbers continue. An event that was never stored has none: it is published
// once, and clients that are behind get it when they are live. A client with since,
// which counts, never gets such an event: it is closed with 4008 and its position in
// digits as the reason, with which it can reconnect.
//
// # Feeds
//
// A client of ServeFeed pulls its messages from its source, one after the other.
// Nothing is queued here; the source and the write timeout decide whether the client
// keeps up.
//
// # Close codes
//
// 1001 the program stops, 1002 the client broke the protocol, 1008 it sent data,
// 1011 the store cannot be read, 4001 its token expired, 4003 its token was revoked,
// 4008 it read too slowly, answered no ping, or must reconnect because of an event
// without a number. At a stop, queued messages are still sent, for a second at most.
//
// # Library
//
// The hub uses nhooyr.io/websocket, as its design says. github.com/coder/websocket in
// go.mod is the same library under its present name: the client library dials WhatsApp
// with it, and the sandbox answers with it. Both are linked; nhooyr.io/websocket is
// 80 KB of the binary.
//
// # Cost
//
// An idle client holds three goroutines, two small buffers and no queue, and keeps
// no request or response of net/http.
package wsbus
