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

// TestMetricsCoverTheFirst2000Instances and none unless they are wanted.
func TestMetricsCoverTheFirst2000Instances(t *testing.T) {
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
			t.Error("they are reported though disabled")
		case wanted && (n != maxListed || !strings.Contains(string(raw), "\npostern_instance_unlisted 3\n") || !strings.Contains(string(raw), `postern_instance_up{name="i0"} 0`)):
			t.Errorf("%d instances are reported", n)
		}
	}
}

// scrape is GET /metrics with headers.
func (s *socketRig) scrape(header http.Header) (status int, body string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/metrics", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// TestMetricsKeySeesItsInstancesOnly and nothing of the program.
func TestMetricsKeySeesItsInstancesOnly(t *testing.T) {
	s := configured(t, func(c *config.Config) { c.Metrics.PerInstance = true })
	for _, name := range []string{"shop", "foreign"} {
		s.instance(name)
	}
	key := func(instances ...string) http.Header {
		var made struct{ Key string }
		body := map[string]any{"name": "k", "instances": instances, "scopes": []string{"metrics"}}
		if err := s.api.Call(t.Context(), s.key, http.MethodPost, "/keys", body, &made); err != nil {
			t.Fatal(err)
		}
		return http.Header{"Authorization": {"Bearer " + made.Key}}
	}
	status, body := s.scrape(key("shop"))
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, `name="shop"`) {
			t.Errorf("it sees %q", line)
		}
	}
	if status != http.StatusOK || !strings.Contains(body, `postern_instance_up{name="shop"} 0`) || strings.Contains(body, "foreign") {
		t.Errorf("%d %s", status, body)
	}
	if _, body := s.scrape(key("*")); !strings.Contains(body, `name="foreign"`) || !strings.Contains(body, "postern_build_info") {
		t.Errorf("for all instances: %s", body)
	}
}

func TestScrapeTakesTheGlobalKeyAsBearer(t *testing.T) {
	s := newSockets(t)
	global := s.sec.GlobalAuthToken
	for _, c := range []struct {
		header http.Header
		want   int
	}{
		{http.Header{"Authorization": {"Bearer " + global}}, 200},
		{http.Header{"Authorization": {"Bearer " + global}, "Apikey": {global}}, 200},
		{http.Header{"Authorization": {"Bearer " + global}, "Apikey": {"other"}}, 400},
		{http.Header{"Authorization": {"Bearer wrong"}}, 401},
		{http.Header{"Authorization": {"Basic " + global}}, 401},
		{http.Header{}, 401},
	} {
		if status, _ := s.scrape(c.header); status != c.want {
			t.Errorf("%v: %d, want %d", c.header, status, c.want)
		}
	}
	_, body := s.scrape(http.Header{"Authorization": {"Bearer " + global}})
	for _, status := range []string{"DRAFT", "QUEUED", "SCHEDULED", "PROCESSING", "WAITING_FOR_WINDOW", "WAITING_FOR_INSTANCE", "PAUSE_REQUESTED", "PAUSED", "STOP_REQUESTED", "INTERRUPTED"} {
		if !strings.Contains(body, `postern_batches{status="`+status+`"} 0`) {
			t.Errorf("no zero for %s", status)
		}
	}
}
