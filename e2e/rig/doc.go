// Package rig is what the tests of the whole program share: a World is a program in a
// process of its own, with the network and the receiver that outlive it; a Scene adds
// a paired instance and its contacts; a SendScene what was sent and what the other
// phone read of it.
package rig
