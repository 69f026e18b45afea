// Package posts has the posts of channels: who wrote them matters to no reader, they are not
// encrypted, and the server numbers them. It keeps them with their views and reactions, judges what
// clients post, and writes the stanzas by which followers and the list of a channel have them.
//
// A Board does not lock: its server's mutex guards it.
package posts
