//go:build linux

// Package arrival waits for clients that are connected to a server and not logged in yet.
package arrival

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"
)

// pause is between two questions.
const pause = 10 * time.Millisecond

// Wait returns once each client that is connected to a port now is one of the server's sessions, or gone, or once the
// context ended. The server is asked for its sessions: those whose clients were told that they are logged in.
func Wait(ctx context.Context, port int, sessions func(context.Context) ([]netip.AddrPort, error)) error {
	waiting, err := Clients(port)
	if err != nil {
		return err
	}
	for {
		in, err := sessions(ctx)
		if ctx.Err() != nil {
			err = ctx.Err() // whatever it led to
		}
		if err != nil {
			return fmt.Errorf("wait until %d clients are logged in: %w", len(waiting), err)
		}
		for _, s := range in {
			delete(waiting, netip.AddrPortFrom(s.Addr().Unmap(), s.Port()))
		}
		if len(waiting) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %d clients are logged in: %w", len(waiting), ctx.Err())
		case <-time.After(pause):
		}
		now, err := Clients(port)
		if err != nil {
			return err
		}
		for client := range waiting {
			if !now[client] {
				delete(waiting, client)
			}
		}
	}
}

// Clients returns the far ends of the connections to a port of this machine, whether its server took them or not.
func Clients(port int) (map[netip.AddrPort]bool, error) {
	clients := map[netip.AddrPort]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table) //nolint:gosec // one of two
		if os.IsNotExist(err) {
			continue // this machine has no IPv6
		}
		if err != nil {
			return nil, fmt.Errorf("read the connections of this machine: %w", err)
		}
		err = read(f, port, clients)
		_ = f.Close() // it was only read
		if err != nil {
			return nil, fmt.Errorf("read the connections of this machine in %s: %w", table, err)
		}
	}
	return clients, nil
}

// States of connections, as the kernel numbers them: both are those of a client that wants to be served.
const (
	established = "01"
	received    = "03"
)

// read adds the far ends of one of the kernel's tables.
func read(table io.Reader, port int, clients map[netip.AddrPort]bool) error {
	lines := bufio.NewScanner(table)
	for first := true; lines.Scan(); first = false {
		fields := strings.Fields(lines.Text())
		if first {
			continue
		}
		if len(fields) < 4 {
			return fmt.Errorf("the line %q has too few columns", lines.Text())
		}
		if fields[3] != established && fields[3] != received {
			continue
		}
		near, err := parse(fields[1])
		if err != nil {
			return err
		}
		if int(near.Port()) != port {
			continue
		}
		far, err := parse(fields[2])
		if err != nil {
			return err
		}
		clients[far] = true
	}
	return lines.Err()
}

// parse reads an address as the kernel writes it: words of four bytes in the order of this machine, and the port.
func parse(text string) (netip.AddrPort, error) {
	address, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(address)
	number, invalid := strconv.ParseUint(port, 16, 16)
	if err != nil || invalid != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, fmt.Errorf("%q is no address", text)
	}
	for word := raw; len(word) > 0; word = word[4:] {
		binary.BigEndian.PutUint32(word, binary.NativeEndian.Uint32(word))
	}
	a, ok := netip.AddrFromSlice(raw)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("%q is no address", text)
	}
	return netip.AddrPortFrom(a.Unmap(), uint16(number)), nil
}
