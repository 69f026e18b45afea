package event

import "context"

type requestIDKey struct{}

// WithRequestID returns a context for the work of the API call with that id.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestIDOf returns the id of the API call that ctx belongs to, or "".
func RequestIDOf(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
