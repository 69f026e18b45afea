package diagnosis

import (
	"net/http"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

func TestSamplesOutliveARestart(t *testing.T) {
	t.Parallel()
	w := rig.NewWorld(t)
	w.Start()
	w.Pair("shop")
	total := func(interval string) (sum uint64) {
		var out struct {
			Samples []struct{ Deliveries uint64 }
		}
		w.Call(consumer.Key(w.Sec.GlobalAuthToken), http.MethodGet, "/admin/samples?interval="+interval, nil, &out)
		for _, s := range out.Samples {
			sum += s.Deliveries
		}
		return sum
	}
	w.Await("a delivery", func() bool { return total("60") > 0 })
	w.Stop()
	w.Start()
	minutes, hours := total("60"), total("3600")
	if minutes == 0 || hours < minutes {
		t.Errorf("after the restart %d deliveries by minute, %d by hour", minutes, hours)
	}
}
