package event

// maxRepeated is how many characters of a request an error repeats: enough to find the
// place, without echoing the request.
const maxRepeated = 100

// Cut returns the first 100 characters of s, followed by an ellipsis if s is longer.
func Cut(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxRepeated {
			return s[:i] + "…"
		}
	}
	return s
}
