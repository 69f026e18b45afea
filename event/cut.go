package event

// maxRepeated is how much of what somebody sent an error repeats, in
// characters: enough to find it, and no mirror for whatever was sent.
const maxRepeated = 100

// Cut returns the first 100 characters of what an error repeats, followed by an
// ellipsis when that is not all.
func Cut(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxRepeated {
			return s[:i] + "…"
		}
	}
	return s
}
