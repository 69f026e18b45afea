package sandbox

import "net/http"

type (
	authority      struct{}
	persistence    struct{}
	mediaStore     struct{}
	account        struct{}
	conn           struct{}
	companionHello struct{}
	watchSet       map[string]struct{}
)

func (*authority) caPEM() []byte     { return nil }
func (*authority) rootPub() [32]byte { return [32]byte{} }

// Open starts a server.
func Open(Config) (*Server, error) { return nil, ErrClosed }

// Close stops it.
func (s *Server) Close() error { return nil }

// Control serves /sandbox.
func (s *Server) Control() http.Handler { return http.NotFoundHandler() }

// AddPhone adds a simulated account.
func (s *Server) AddPhone(PhoneOptions) (*Phone, error) { return nil, ErrNumber }

// Phone finds a phone by its number.
func (s *Server) Phone(string) (*Phone, bool) { return nil, false }

// Phones lists the added phones.
func (s *Server) Phones() []*Phone { return nil }

// AutoScan scans a code with a fresh account.
func (s *Server) AutoScan(string) (*Phone, error) { return nil, ErrNoPairing }

// Drop cuts the connections of an account's linked devices.
func (s *Server) Drop(string) {}

// Unlink removes an account's linked devices.
func (s *Server) Unlink(string) {}

// RefuseLogin refuses the next login of an account.
func (s *Server) RefuseLogin(string, int) {}
