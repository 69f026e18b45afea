// Package tokens makes and reads the tokens of the interface: JSON Web Tokens
// (RFC 7519) that are signed with HS256 and one secret of the program.
//
// A token speaks for an instance or for a user, never for both. That of an
// instance may live for ever, so it counts only as long as the instance has it
// stored, which is for the caller to look up. That of a user always expires.
//
// # What it promises
//
// A token has exactly one spelling, and [Read] takes no other: no other
// algorithm, no line breaks, no names in other letters, no claim twice, no time
// in quotes. So a list of tokens, or another program with the secret,
// cannot understand one differently.
package tokens
