package rest

// Alias is one row of the table of paths that are other names of current ones.
// In from and to, a segment in braces stands for any one segment; a name that
// occurs twice must match the same text both times.
type Alias struct {
	Methods []string
	From    string
	To      string
	// Legacy marks the paths that only older clients use. What they send is read
	// as they expect: the words of the path in any case, but not where a word
	// could be a name, and unknown JSON fields are ignored.
	Legacy bool
}
