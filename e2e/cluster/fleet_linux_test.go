package cluster

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"postern/internal/nightly"
)

// A standby takes over from an owner that was killed, and all accounts are connected within
// a minute of its first answer.
func TestAllAccountsAreBackAfterATakeover(t *testing.T) {
	accounts := nightly.Or(0, 1000)
	if accounts == 0 {
		t.Skip("takes minutes: NIGHTLY=1")
	}
	n := newNetwork(t)
	a, b := n.node("a"), n.node("b")
	a.launch()
	a.awaitOwner()
	b.launch()
	b.awaitStandby()
	began := time.Now()
	var work sync.WaitGroup
	for of := range 6 {
		work.Go(func() {
			for i := of; i < accounts; i += 6 {
				a.Pair(fmt.Sprintf("shop-%d", i))
			}
		})
	}
	work.Wait()
	t.Logf("%d accounts were linked in %s", accounts, time.Since(began).Round(time.Second))
	a.Kill()
	first := b.answered()
	began = time.Now()
	b.Await("all accounts are online", func() bool { return b.online() == accounts })
	back := time.Since(began)
	t.Logf("the standby answered after %s, and all accounts were online %s later", first.Round(100*time.Millisecond), back.Round(100*time.Millisecond))
	if back > time.Minute {
		t.Error("wanted: within a minute")
	}
	for _, p := range n.first.Sandbox.Phones() {
		if at := n.first.Sandbox.Connections(p.Number()); at != 1 {
			t.Errorf("%s has %d connections", p.Number(), at)
		}
	}
}

// online returns how many instances are connected by the metrics of the node.
func (n *node) online() (count int) {
	n.T.Helper()
	req, err := http.NewRequestWithContext(n.T.Context(), http.MethodGet, "http://"+n.address+"/metrics", nil)
	if err != nil {
		n.T.Fatal(err)
	}
	req.Header.Set("apikey", n.Sec.GlobalAuthToken)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	scraped, _ := io.ReadAll(res.Body)
	if found := onlineLine.FindSubmatch(scraped); found != nil {
		count, _ = strconv.Atoi(string(found[1]))
	}
	return count
}

var onlineLine = regexp.MustCompile(`(?m)^postern_instances\{state="online"\} (\d+)`)
