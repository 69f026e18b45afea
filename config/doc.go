// Package config holds the configuration: the table of settings with their defaults and
// rules, read from a TOML file and the environment, which takes precedence.
//
// settings.go has the table, values.go the types of values, rules.go their validation,
// load.go and files.go their sources, show.go their redacted output. secrets.go generates
// and stores the two secrets when they are not set, and exposure.go warns of files and
// addresses that others than the operator could read or reach. No error or output
// contains a secret.
package config
