// Package link makes and checks the tokens of links to the files of stored messages.
//
// A token is base64url of a version byte, the instance, the message, the expiry in Unix
// seconds and the generation of the instance's links, 8 bytes each, and 16 bytes of
// HMAC-SHA256 over them. The key is derived from the program's secret by HKDF, with a
// label of its own. So no record exists of a link: a commit may contain the link of a
// message that it stores, and only [Links.Revoke] ends links before they expire.
//
// A revocation gives the instance another generation, which makes its earlier tokens
// invalid. It is the time in Unix milliseconds, and grows with each revocation.
//
// # Bucket
//
//	media_link  instance -> JSON of the generation and when it began; none: 0
package link
