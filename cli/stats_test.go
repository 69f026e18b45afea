package cli

import "testing"

func TestByteCountsHaveThreeDigits(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "0.977 KiB", 1 << 20: "1 MiB",
		999<<10 + 400: "999 KiB", 999<<10 + 600: "0.976 MiB", 1023 << 20: "0.999 GiB",
	} {
		if got := inUnits(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
