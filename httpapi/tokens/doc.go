// Package tokens makes and reads the tokens of the interface: JSON Web Tokens
// (RFC 7519) that are signed with HS256 and one secret of the program.
//
// A token is for an instance or for a user, never for both. An instance token may
// have no expiry, so it is valid only while it is the stored token of the instance,
// which the caller checks. A user token always expires.
//
// # Guarantees
//
// A token has exactly one encoding, and [Read] accepts no other: no other
// algorithm, no line breaks, no names in another case, no duplicate claims, no
// quoted times. So a list of tokens, or another program with the secret,
// cannot understand one differently.
package tokens
