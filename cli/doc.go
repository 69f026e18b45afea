// Package cli has the program's commands, a file each; commands.go lists them. Main
// runs one and returns the exit status.
//
// Help, the manual page and shell completion are generated from that list. A command
// prints only its result to standard output. Errors go to standard error, with the help
// command for usage errors.
package cli
