// Postern turns WhatsApp accounts into an HTTP API: one program, one data
// file, no other service.
//
// Package cli has the commands; app wires the packages together, and app/app.go is
// the place to begin reading; config says what can be set.
package main

import (
	"os"

	"postern/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
