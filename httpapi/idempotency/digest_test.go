package idempotency

import (
	"io"
	"testing"
)

func TestPartsThatAreCutDifferentlyHaveDifferentDigests(t *testing.T) {
	digest := func(parts ...[3]string) [32]byte {
		d := NewParts()
		for _, p := range parts {
			_, _ = io.WriteString(d.Next(p[0], p[1]), p[2])
		}
		return d.Sum()
	}
	seen := map[[32]byte]int{}
	for i, d := range [][32]byte{
		digest(), digest([3]string{"a", "", ""}), digest([3]string{"", "a", ""}), digest([3]string{"", "", "a"}),
		digest([3]string{"a", "b", "c"}), digest([3]string{"ab", "", "c"}), digest([3]string{"a", "", "bc"}),
		digest([3]string{"a", "b", ""}, [3]string{"", "", "c"}), digest([3]string{"a", "", "b"}, [3]string{"", "", "c"}),
	} {
		if j, twice := seen[d]; twice {
			t.Errorf("%d and %d are equal", i, j)
		}
		seen[d] = i
	}
}
