// Package everycell puts PostgreSQL behind the cells of store's build tag everycell: the tests
// of the packages that store run on it. Only its own test imports it, into theirs.
package everycell
