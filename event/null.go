package event

// OrNull returns s for a field that may be null or absent: nil if s is empty.
func OrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
