// Package wsbus is the WebSocket hub: it sends each event to the clients that
// subscribed to it, byte for byte as the webhook has it.
//
// Publishing never waits. A client has a bounded queue; one whose queue is
// full, or that does not answer pings, is closed and costs the others nothing.
// Within one connection messages keep the order in which they were published.
// The hub keeps nothing: what a client missed is in the outbox.
//
// Close codes: 1001 the program stops, 1008 the client sent data, 4001 its
// token expired, 4003 its token was revoked, 4008 it read too slowly.
package wsbus
