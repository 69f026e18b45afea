// Package config is what can be set: the table of settings with their defaults and
// rules, read from a TOML file and the environment, which wins.
//
// settings.go is the table, values.go the kinds of values, rules.go what they must
// be, load.go and files.go where they come from, show.go what may be seen of them.
// secrets.go keeps the two secrets that are made when none is set, and exposure.go
// warns of what others than the operator could reach or read. No error and nothing that
// is shown repeats a secret.
package config
