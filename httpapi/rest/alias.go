package rest

// Alias is one row of the table of alternative paths. In from and to, a segment in braces matches
// any one segment; a name that occurs twice must match the same text both times.
type Alias struct {
	Methods []string
	From    string
	To      string
	// Legacy marks paths that only older clients use. Their requests are read as those clients expect:
	// the words of the path in any case, except where a word could be a name, and unknown JSON fields
	// are ignored.
	Legacy bool
}
