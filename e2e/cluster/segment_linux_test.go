package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// segment is a network of its own: a bridge, at which the database, WhatsApp and the receiver
// are reached, and a network namespace with one link to it for each node.
type segment struct {
	t     *testing.T
	links map[string]string // the bridge's end of the link of a node
}

// subnet has the bridge as its first address and the nodes after it.
const subnet = "10.213.77"

const bridge = "pstest"

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
	if err := only(t); err != nil {
		t.Logf("the nodes share one network namespace: another run has the bridge: %v", err)
		return nil
	}
	tidySegment(t) // of a test that was killed
	for _, args := range [][]string{{"link", "add", bridge, "type", "bridge"}, {"addr", "add", subnet + ".1/24", "dev", bridge}, {"link", "set", bridge, "up"}} {
		if out, err := exec.CommandContext(t.Context(), "ip", args...).CombinedOutput(); err != nil {
			t.Logf("the nodes share one network namespace: %v: %s", err, out)
			return nil
		}
	}
	t.Cleanup(func() { tidySegment(t) })
	s := &segment{t: t, links: map[string]string{}}
	if err := s.probe(); err != nil {
		tidySegment(t)
		t.Logf("the nodes share one network namespace: no connection from another one: %v", err)
		return nil
	}
	return s
}

// only takes the lock of the one run of this machine that may have the bridge.
func only(t *testing.T) error {
	lock, err := os.Create(filepath.Join(os.TempDir(), bridge+".lock"))
	if err != nil {
		return err
	}
	t.Cleanup(func() { lock.Close() })
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// probe connects from a namespace to this process: a firewall of the machine may drop what
// comes over a bridge that it does not know.
func (s *segment) probe() error {
	server, err := net.Listen("tcp", subnet+".1:0")
	if err != nil {
		return err
	}
	defer server.Close()
	place := s.attach("probe", subnet+".254")
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
	defer cancel()
	dial := exec.CommandContext(ctx, "bash", "-c", fmt.Sprintf("exec 3<>/dev/tcp/%s.1/%d", subnet, server.Addr().(*net.TCPAddr).Port))
	inside(dial, place)
	if out, err := dial.CombinedOutput(); err != nil {
		return fmt.Errorf("%w %s", err, out)
	}
	s.ip("netns", "del", place)
	return nil
}

// tidySegment removes the bridge and the namespaces.
func tidySegment(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	all, _ := filepath.Glob("/run/netns/" + bridge + "-*")
	for _, place := range all {
		_ = exec.CommandContext(ctx, "ip", "netns", "del", filepath.Base(place)).Run()
	}
	links, _ := filepath.Glob("/sys/class/net/" + bridge + "*") // those of a namespace go some time after it
	for _, link := range links {
		_ = exec.CommandContext(ctx, "ip", "link", "del", filepath.Base(link)).Run()
	}
}

// join makes the namespace of a node, and returns its name and the node's address.
func (s *segment) join(node string) (place, address string) {
	s.t.Helper()
	ip := fmt.Sprintf("%s.%d", subnet, 2+len(s.links))
	place = s.attach(node, ip)
	s.links[node] = place
	return place, ip + ":8084"
}

// attach makes a namespace with a link to the bridge. Both have the name that it returns.
func (s *segment) attach(node, ip string) (place string) {
	s.t.Helper()
	place = bridge + "-" + node
	s.ip("netns", "add", place)
	s.ip("link", "add", place, "type", "veth", "peer", "name", "eth0", "netns", place)
	s.ip("link", "set", place, "master", bridge, "up")
	s.ip("-n", place, "addr", "add", ip+"/24", "dev", "eth0")
	s.ip("-n", place, "link", "set", "eth0", "up")
	s.ip("-n", place, "link", "set", "lo", "up")
	return place
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
