// Package mailing is what a batch sends, and to whom: the recipients of a request with what
// belongs to each, those of them that were chosen, and the content, which may be a template for
// each. It reads and writes no file: details are kept as package record encodes them.
package mailing
