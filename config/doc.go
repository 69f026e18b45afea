// Package config holds the settings: a table with their defaults and rules, read from a
// TOML file and from the environment, which takes precedence.
//
// settings.go is the table, values.go has the types of values, rules.go their rules,
// load.go and files.go read the sources, and show.go prints values without secrets.
// secrets.go generates and keeps the two secrets if none is set, and exposure.go lists
// what others than the operator could reach or read. No error and no output repeats a
// secret.
package config
