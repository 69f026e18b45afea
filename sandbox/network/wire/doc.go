// Package wire converts the bytes of a client's connection to stanzas and back, on the server's
// side: it splits the stream into frames, answers the Noise handshake that opens a connection,
// and decodes and encodes the stanzas in the frames.
//
// A connection begins with a FrameReader's Preamble, then a Responder's Hello and Finish, whose
// Ciphers open and seal every later frame; Decode and Encode do the rest.
//
// # Guarantees
//
// No input of a client causes a panic: the sizes of frames and lists and the nesting of stanzas
// are checked before anything is built of them. After an error the stream cannot be read any
// further; the caller ends the connection.
//
// The package knows no accounts, sends nothing by itself and has no state beyond a connection's.
package wire
