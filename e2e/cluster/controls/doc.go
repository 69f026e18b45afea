// Package controls holds the tests of a cell to account: it puts faults into the program on
// purpose, and looks whether they find them.
package controls
