package store

import "context"

// alongKey is the context key of the function that [Along] adds.
type alongKey struct{}

// Along returns a context with which each [Store.Update] also runs fn in its transaction,
// after the closure of the call and only if that closure returned no error. fn follows
// the rules of Update's closures. It must write the same each time that it is called,
// since a caller may commit several times. A function that ctx already carries runs
// before fn. If fn is nil, ctx carries nothing.
func Along(ctx context.Context, fn func(*Tx) error) context.Context {
	if before, _ := ctx.Value(alongKey{}).(func(*Tx) error); before != nil && fn != nil {
		added := fn
		fn = func(tx *Tx) error {
			if err := before(tx); err != nil {
				return err
			}
			return added(tx)
		}
	}
	return context.WithValue(ctx, alongKey{}, fn)
}

// withAlong returns a closure that calls fn and then the function that ctx carries.
func withAlong(ctx context.Context, fn func(*Tx) error) func(*Tx) error {
	along, _ := ctx.Value(alongKey{}).(func(*Tx) error)
	if along == nil {
		return fn
	}
	return func(tx *Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return along(tx)
	}
}
