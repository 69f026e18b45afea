// Package wire turns the bytes of a client's connection into stanzas and back, as the server's
// end: it cuts the stream into frames, answers the Noise handshake that opens a connection,
// and decodes and encodes the stanzas that the frames then carry.
//
// A connection begins with a FrameReader's Preamble, then a Responder's Hello and Finish, whose
// Ciphers open and seal every later frame; Decode and Encode do the rest.
//
// # Guarantees
//
// Whatever a client sends, reading it does not panic: the sizes of frames and lists and the
// nesting of stanzas are checked before anything is built of them. An error means that the
// stream cannot be read any further; the caller ends the connection.
//
// The package knows no account, sends nothing by itself and has no state beyond a connection's.
package wire
