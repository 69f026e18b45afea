// Package peers knows clients by their addresses: who is behind a trusted
// proxy, how many connections one address holds, and how often it guessed.
//
// An address is an IPv4 address or a /64 of IPv6, since the holder of one IPv6
// address has the 2^64 around it. Nothing here grows without a bound, whatever
// number of addresses comes.
package peers
