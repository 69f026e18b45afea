package store

import "context"

// alongKey is where a context has what goes along with its commits.
type alongKey struct{}

// Along returns a context that has fn run in the transaction of each [Store.Update]
// with it, after what that was called for and only when that had no error. fn keeps
// the rules of Update's closures, and puts the same thing each time that it is
// called: a caller may commit several times. What goes along with ctx already comes
// before it. With a nil fn nothing goes along.
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

// withAlong returns fn and what goes along with it.
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
