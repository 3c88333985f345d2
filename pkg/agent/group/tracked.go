package group

import "net"

// tracked is a connection that the network can close.
type tracked struct {
	net.Conn
	network *network
}

func (n *network) track(c net.Conn) net.Conn {
	t := &tracked{Conn: c, network: n}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns[t] = true
	if n.left {
		_ = c.Close()
	}
	return t
}

// Close ends the connection.
func (t *tracked) Close() error {
	t.network.mu.Lock()
	delete(t.network.conns, t)
	t.network.mu.Unlock()
	return t.Conn.Close()
}

func (n *network) isLeft() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.left
}

// setLeft closes every connection while the disk stalls, and lets new ones pass after that. It says whether that is a
// change.
func (n *network) setLeft(left bool) bool {
	n.mu.Lock()
	changed := n.left != left
	n.left = left
	n.mu.Unlock()
	if changed && left {
		n.drop()
	}
	return changed
}

func (n *network) drop() {
	n.mu.Lock()
	conns := n.conns
	n.conns = map[net.Conn]bool{}
	n.mu.Unlock()
	for c := range conns {
		_ = c.(*tracked).Conn.Close()
	}
}
