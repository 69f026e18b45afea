// Package cli has the program's commands, a file each; commands.go lists them. Main
// runs one and returns the exit status.
//
// The list is the only place that knows a command: help, the manual page and the
// completion of the shells are made from it. A command prints what it was asked for
// to its output and nothing else. Mistakes go to the error output, with the command
// that explains them.
package cli
