// Package trouble knows what is wrong with a fleet: which accounts, receivers, batches and
// parts of the program need an operator, since when, and what to do.
//
// [Watch] looks at the parts of the program in memory, once a second while somebody is
// looking and every ten seconds otherwise, and keeps a list of findings. [Watch.Items]
// groups them by kind and, for receivers, by origin, for what a viewer may see. So two
// thousand logged-out accounts are one item, and the answer is bounded.
//
// A condition keeps its beginning as long as it holds. What the data file knows (a log-out,
// a restriction, a waiting batch) keeps it over a restart; other conditions are looked at
// anew. There are no thresholds to set and no history: each item that comes or goes is one
// line of the log.
//
// A new kind is a row of [kinds] and a finding in look.go.
package trouble
