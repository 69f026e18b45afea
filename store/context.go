package store

import "context"

// updateKey is the context key of the function that [WithUpdate] adds.
type updateKey struct{}

// WithUpdate returns a context with which each [Store.Update] also runs fn in its transaction,
// after the closure of the call and only if that closure returned no error. fn follows
// the rules of Update's closures. It must write the same each time that it is called,
// since a caller may commit several times. A function that ctx already carries runs
// before fn. If fn is nil, ctx carries nothing.
func WithUpdate(ctx context.Context, fn func(*Tx) error) context.Context {
	if before, _ := ctx.Value(updateKey{}).(func(*Tx) error); before != nil && fn != nil {
		added := fn
		fn = func(tx *Tx) error {
			if err := before(tx); err != nil {
				return err
			}
			return added(tx)
		}
	}
	return context.WithValue(ctx, updateKey{}, fn)
}

// withCarried returns a closure that calls fn and then the function that ctx carries.
func withCarried(ctx context.Context, fn func(*Tx) error) func(*Tx) error {
	carried, _ := ctx.Value(updateKey{}).(func(*Tx) error)
	if carried == nil {
		return fn
	}
	return func(tx *Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return carried(tx)
	}
}
