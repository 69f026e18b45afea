package app

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"postern/config"
	"postern/instance"
)

// TestMetricsOfInstancesAreThoseOfTheFirstTwoThousand and none unless they are wanted.
func TestMetricsOfInstancesAreThoseOfTheFirstTwoThousand(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		s := configured(t, func(c *config.Config) { c.Metrics.PerInstance = wanted })
		const all = maxListed + 3
		if !wanted {
			s.instance("i0")
		}
		for i := 0; wanted && i < all; i++ {
			if _, err := s.registry.Create(t.Context(), instance.New{Name: fmt.Sprint("i", i), Mint: func(name string) (string, error) { return name, nil }}); err != nil {
				t.Fatal(err)
			}
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(s.key.Name, s.key.Value)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		n := strings.Count(string(raw), "\npostern_instance_up{")
		switch {
		case !wanted && strings.Contains(string(raw), "postern_instance_"):
			t.Error("they are told though nobody wants them")
		case wanted && (n != maxListed || !strings.Contains(string(raw), "\npostern_instance_unlisted 3\n") || !strings.Contains(string(raw), `postern_instance_up{name="i0"} 0`)):
			t.Errorf("%d instances are told of", n)
		}
	}
}
