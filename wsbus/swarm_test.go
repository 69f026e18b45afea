package wsbus

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/pprof"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// runSwarm returns the process of a benchmark's clients. It says "ready" when all are
// connected, "plugged" when those that read have the first event, and a report
// when its input ends. The plan is the server's address,
// the number of clients, and how many of them read nothing.
func runSwarm(plan string) error {
	var addr string
	var clients, silent int
	if _, err := fmt.Sscan(plan, &addr, &clients, &silent); err != nil {
		return fmt.Errorf("plan %q: %w", plan, err)
	}
	conns := make([]*swarmClient, clients)
	for i := range conns {
		c, err := joinSwarm(addr, i%topics, i < silent)
		if err != nil {
			return fmt.Errorf("client %d: %w", i, err)
		}
		conns[i] = c
	}
	var work, plugs sync.WaitGroup
	for _, c := range conns[silent:] {
		plugs.Add(1)
		work.Go(func() { c.listen(sync.OnceFunc(plugs.Done)) })
	}
	fmt.Println("ready")
	work.Go(func() {
		plugs.Wait()
		fmt.Println("plugged")
	})
	_, _ = io.Copy(io.Discard, os.Stdin)
	var all []time.Duration
	for _, c := range conns {
		_ = c.conn.Close()
	}
	work.Wait()
	for _, c := range conns {
		all = append(all, c.took...)
	}
	return json.NewEncoder(os.Stdout).Encode(summary(all))
}

func summary(all []time.Duration) report {
	if len(all) == 0 {
		return report{}
	}
	slices.Sort(all)
	at := func(part float64) float64 { return all[int(part*float64(len(all)-1))].Seconds() * 1e3 }
	return report{Messages: len(all), P50: at(0.5), P99: at(0.99), Max: at(1)}
}

// swarmClient reads frames and little else, so that the figures are the hub's.
type swarmClient struct {
	conn net.Conn
	in   *bufio.Reader
	took []time.Duration
}

func joinSwarm(addr string, topic int, silent bool) (*swarmClient, error) {
	conn, err := net.DialTimeout("tcp", addr, settling)
	if err != nil {
		return nil, err
	}
	if silent {
		_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	}
	_, _ = fmt.Fprintf(conn, "GET /%d HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", topic)
	in := bufio.NewReaderSize(conn, 2048)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	return &swarmClient{conn: conn, in: in}, nil
}

// listen notes how long each event took, until the connection ends.
func (c *swarmClient) listen(plugged func()) {
	defer plugged()
	stamp := make([]byte, 19) // nanoseconds since 1970
	for {
		size, err := c.header()
		if err != nil {
			return
		}
		if size != bodySize {
			if _, err := c.in.Discard(size); err != nil {
				return
			}
			plugged()
			continue
		}
		if _, err := io.ReadFull(c.in, stamp); err != nil {
			return
		}
		made, _ := strconv.ParseInt(string(stamp), 10, 64)
		c.took = append(c.took, time.Since(time.Unix(0, made)))
		if _, err := c.in.Discard(size - len(stamp)); err != nil {
			return
		}
	}
}

func (c *swarmClient) header() (size int, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(c.in, head); err != nil {
		return 0, err
	}
	switch head[1] {
	case 126:
		long := make([]byte, 2)
		_, err = io.ReadFull(c.in, long)
		return int(binary.BigEndian.Uint16(long)), err
	case 127:
		long := make([]byte, 8)
		_, err = io.ReadFull(c.in, long)
		return int(binary.BigEndian.Uint64(long)), err
	}
	return int(head[1]), nil
}

func writeHeapProfile(b *testing.B, path string) {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := pprof.WriteHeapProfile(f); err != nil {
		b.Fatal(err)
	}
}
