// Package lookup connects to names. It asks DNS again soon where no answer comes. A server of DNS that is gone with its
// node answers nothing, and a resolver waits 5 s for it (resolv.conf(5)). That is longer than all times between agents.
// The service of a cluster's DNS sends each question to any of its servers, to the dead one as well until the cluster
// knows of it.
package lookup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// first is how long the first question waits for an answer; each further one waits twice as long.
const first = 250 * time.Millisecond

// Addresses returns the addresses of a host and port, at least one. It asks until the context is done. The error is a
// net.DNSError, wrapped, if there is no answer, or if the answer is that there is no such name.
func Addresses(ctx context.Context, address string) ([]string, error) {
	return addresses(ctx, net.DefaultResolver, address)
}

func addresses(ctx context.Context, r *net.Resolver, address string) ([]string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", address, err)
	}
	for wait := first; ; wait *= 2 {
		hosts, err := ask(ctx, r, host, wait)
		if err == nil {
			for i := range hosts {
				hosts[i] = net.JoinHostPort(hosts[i], port)
			}
			return hosts, nil
		}
		var dns *net.DNSError
		if ctx.Err() != nil || errors.As(err, &dns) && dns.IsNotFound {
			return nil, fmt.Errorf("resolve %s: %w", host, err)
		}
		if errors.As(err, &dns) && dns.IsTimeout {
			continue
		}
		select { // the answer came at once, and will again
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

func ask(ctx context.Context, r *net.Resolver, host string, wait time.Duration) ([]string, error) {
	ctx, stop := context.WithTimeout(ctx, wait)
	defer stop()
	return r.LookupHost(ctx, host)
}

// Dial connects to the first of some addresses that takes the connection. Each has an equal part of the time that the
// context leaves.
func Dial(ctx context.Context, d *net.Dialer, addresses []string) (conn net.Conn, err error) {
	for i, address := range addresses {
		conn, err = dial(ctx, d, address, len(addresses)-i)
		if err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func dial(ctx context.Context, d *net.Dialer, address string, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok {
		part, stop := context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer stop()
		ctx = part
	}
	return d.DialContext(ctx, "tcp", address)
}
