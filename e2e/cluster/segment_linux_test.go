package cluster

import (
	"fmt"
	"os/exec"
	"testing"
)

// segment is a network of its own: a bridge, at which the database, WhatsApp and the receiver
// are reached, and a network namespace with one link to it for each node.
type segment struct {
	t     *testing.T
	links map[string]string // the bridge's end of the link of a node
}

// subnet has the bridge as its first address and the nodes after it.
const subnet = "10.213.77"

const bridge = "postern-test"

// host returns the address of this machine that nodes reach.
func (n *network) host() string {
	if n.segment == nil {
		return "127.0.0.1"
	}
	return subnet + ".1"
}

// newSegment returns nil and says so if this process may not make one.
func newSegment(t *testing.T) *segment {
	t.Helper()
	for _, args := range [][]string{{"link", "add", bridge, "type", "bridge"}, {"addr", "add", subnet + ".1/24", "dev", bridge}, {"link", "set", bridge, "up"}} {
		if out, err := exec.CommandContext(t.Context(), "ip", args...).CombinedOutput(); err != nil {
			t.Logf("the nodes share one network namespace: %v: %s", err, out)
			return nil
		}
		if args[1] == "add" && args[0] == "link" {
			t.Cleanup(func() { _ = exec.Command("ip", "link", "del", bridge).Run() })
		}
	}
	return &segment{t: t, links: map[string]string{}}
}

// join makes the namespace of a node, and returns its name and the node's address.
func (s *segment) join(node string) (place, address string) {
	s.t.Helper()
	place, link := bridge+"-"+node, "postern-"+node
	ip := fmt.Sprintf("%s.%d", subnet, 2+len(s.links))
	s.links[node] = link
	s.ip("netns", "add", place)
	s.t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", place).Run() })
	s.ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", place)
	s.ip("link", "set", link, "master", bridge, "up")
	s.ip("-n", place, "addr", "add", ip+"/24", "dev", "eth0")
	s.ip("-n", place, "link", "set", "eth0", "up")
	s.ip("-n", place, "link", "set", "lo", "up")
	return place, ip + ":8084"
}

// link sets the link of a node up or down. Packets are lost while it is down, and no
// connection is closed by it.
func (s *segment) link(node string, up bool) {
	s.t.Helper()
	s.ip("link", "set", s.links[node], map[bool]string{true: "up", false: "down"}[up])
}

func (s *segment) ip(args ...string) {
	s.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		s.t.Fatalf("ip %v: %v\n%s", args, err, out)
	}
}

// inside starts cmd in a network namespace, as the same process.
func inside(cmd *exec.Cmd, place string) {
	cmd.Args = append([]string{"nsenter", "--net=/run/netns/" + place, cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.Err = "/usr/bin/nsenter", nil
}
