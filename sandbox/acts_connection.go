package sandbox

import "context"

// connectionActs disturb the connections of linked devices.
func connectionActs() []act {
	return []act{
		row("drop", "the network cuts the connections of the phone's linked devices", actDrop),
		row("logout", "the phone removes its linked devices", actLogout),
	}
}

func actDrop(_ context.Context, s *Server, p *Phone, _ struct{}) (any, error) {
	s.Drop(p.Number())
	return nil, nil
}

func actLogout(_ context.Context, s *Server, p *Phone, _ struct{}) (any, error) {
	s.Unlink(p.Number())
	return nil, nil
}
