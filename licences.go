package main

import _ "embed"

// licences are the texts that whoever passes the program on has to pass on with
// it: of every module that is linked, and of Go itself. `make docs` writes them
// from the modules' own files.
//
//go:embed licences.txt
var licences string
