package proxytest

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strconv"
)

// Bytes of RFC 1928 and RFC 1929.
const (
	version5     = 5
	noLogin      = 0
	withLogin    = 2
	noneIsGood   = 0xff
	addressIPv4  = 1
	addressName  = 3
	addressIPv6  = 4
	succeeded    = 0
	hostNotThere = 4
)

func (p *Proxy) serveSOCKS(c net.Conn) {
	if !p.greetSOCKS(c) {
		return
	}
	head := take(c, 4)
	if len(head) < 4 {
		return
	}
	var host string
	switch head[3] {
	case addressName:
		if n := take(c, 1); len(n) == 1 {
			host = string(take(c, int(n[0])))
		}
	case addressIPv4:
		host = net.IP(take(c, net.IPv4len)).String()
	case addressIPv6:
		host = net.IP(take(c, net.IPv6len)).String()
	}
	port := take(c, 2)
	if len(port) < 2 {
		return
	}
	to, ok := p.reach(net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(port)))))
	code := byte(succeeded)
	if !ok {
		code = hostNotThere
	}
	_, _ = c.Write([]byte{version5, code, 0, addressIPv4, 0, 0, 0, 0, 0, 0})
	if ok {
		defer p.drop(to)
		p.join(c, c, to)
	}
}

// greetSOCKS agrees on how the client says who it is, and hears it.
func (p *Proxy) greetSOCKS(c net.Conn) bool {
	head := take(c, 2)
	if len(head) < 2 {
		return false
	}
	p.mu.Lock()
	asks := p.login != ""
	p.mu.Unlock()
	offered := take(c, int(head[1]))
	switch {
	case slices.Contains(offered, withLogin):
		_, _ = c.Write([]byte{version5, withLogin})
		return p.hearLogin(c)
	case asks:
		_, _ = c.Write([]byte{version5, noneIsGood})
		return false
	}
	_, _ = c.Write([]byte{version5, noLogin})
	return true
}

func (p *Proxy) hearLogin(c net.Conn) bool {
	var said []string
	take(c, 1)
	for range 2 {
		if n := take(c, 1); len(n) == 1 {
			said = append(said, string(take(c, int(n[0]))))
		}
	}
	if len(said) < 2 {
		return false
	}
	if !p.admit(said[0] + ":" + said[1]) {
		_, _ = c.Write([]byte{1, 1})
		return false
	}
	_, _ = c.Write([]byte{1, succeeded})
	return true
}

// take reads n bytes, or as many as come.
func take(r io.Reader, n int) []byte {
	b := make([]byte, n)
	got, _ := io.ReadFull(r, b)
	return b[:got]
}
