package event

// OrNull returns v for a field that may be null or absent: nil if v is zero. AtPtr does so
// with times.
func OrNull[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}
