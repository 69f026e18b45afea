package diagnosis

import (
	"net"
	"testing"

	"postern/e2e/rig"
)

// operator asks the program how it is.
type operator struct {
	*rig.Operator
	t *testing.T
}

func newOperator(t *testing.T, env ...string) *operator {
	return &operator{rig.NewOperator(t, env...), t}
}

// silent returns the address of a server that takes connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}
