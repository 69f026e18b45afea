package network

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"postern/sandbox/handset"
	"postern/sandbox/phone"
)

// autoNumber is the first number that AutoScan tries.
const autoNumber = 5511900000001

// AutoScan links the client that shows code. The text of a QR code is scanned by a new
// phone; a link code is typed on the phone for which a client requested it.
func (s *Server) AutoScan(code string) (*phone.Phone, error) {
	if strings.Contains(code, "://") {
		return s.autoScanQR(code)
	}
	typed, err := handset.NormaliseCode(code)
	if err != nil {
		return nil, fmt.Errorf("scan: %w", err)
	}
	err = fmt.Errorf("scan: %w", ErrNoPairing)
	for _, h := range s.waitingHellos("") {
		p, ok := s.Phone(h.number)
		if !ok {
			continue
		}
		if err = s.tryCode(p, h, typed); err == nil || !errors.Is(err, handset.ErrCode) {
			return p, err
		}
	}
	return nil, err
}

func (s *Server) autoScanQR(code string) (*phone.Phone, error) {
	qr, err := handset.ParseQR(code)
	if err != nil {
		return nil, fmt.Errorf("scan: %w", err)
	}
	s.mu.Lock()
	_, waits := s.pending[qr.Ref]
	s.mu.Unlock()
	if !waits {
		return nil, fmt.Errorf("scan: %w", ErrNoPairing)
	}
	p, err := s.AddFreshPhone("")
	if err != nil {
		return nil, err
	}
	return p, s.LinkDevice(p, qr)
}

// AddFreshPhone adds a phone with an unused number; an empty name is replaced by a
// generated one. Errors: those of AddPhone.
func (s *Server) AddFreshPhone(pushName string) (*phone.Phone, error) {
	for {
		s.mu.Lock()
		if s.nextAuto == 0 {
			s.nextAuto = autoNumber
		}
		number := strconv.FormatInt(s.nextAuto, 10)
		s.nextAuto++
		_, taken := s.byPN[number]
		s.mu.Unlock()
		if taken || !onNetwork(number) {
			continue
		}
		if pushName == "" {
			pushName = "Phone " + number[len(number)-4:]
		}
		p, err := s.AddPhone(phone.Options{Number: number, PushName: pushName})
		if !errors.Is(err, ErrExists) {
			return p, err
		}
	}
}
