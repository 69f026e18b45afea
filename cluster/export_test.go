package cluster

import "errors"

// Kill ends what the node does, as the end of its process does, without a call to the
// database.
func (n *Node) Kill() {
	n.mu.Lock()
	o := n.grant
	n.mu.Unlock()
	if o == nil {
		_ = n.closeFile()
		return
	}
	o.until.Store(0)
	o.stop(errors.New("killed"))
}
