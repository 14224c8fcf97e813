// Package memnet is a network in memory. It lets an http.Server and an
// http.Transport talk to each other without sockets, and so inside a
// testing/synctest bubble, where a real socket would stop the virtual clock.
package memnet

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// Listener accepts the connections that its own DialContext opens. Each one is
// a net.Pipe: writes are not buffered, deadlines work, and closing one end is
// EOF at the other. It is safe for concurrent use.
//
// Inside a synctest bubble, Listen has to be called in the bubble as well.
type Listener struct {
	conns chan net.Conn
	done  chan struct{}
	close sync.Once

	mu      sync.Mutex
	refusal int
	dials   int
}

var _ net.Listener = (*Listener)(nil)

// Listen returns an open Listener.
func Listen() *Listener {
	return &Listener{conns: make(chan net.Conn), done: make(chan struct{})}
}

// Accept waits for the next connection. After Close it returns net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, &net.OpError{Op: "accept", Net: network, Addr: l.Addr(), Err: net.ErrClosed}
	}
}

// Close ends Accept and every dial that waits for it. Connections that were
// accepted before stay open. It never fails, and may be called again.
func (l *Listener) Close() error {
	l.close.Do(func() { close(l.done) })
	return nil
}

// Addr returns an address that names the network, for every Listener the same.
func (l *Listener) Addr() net.Addr { return addr{} }

// DialContext opens a connection, whatever the network and the address are: a
// Listener is the whole network. It waits until the connection is accepted or
// ctx ends. Once the Listener is closed, or while Refuse says so, it fails as a
// closed port does, with an error that matches syscall.ECONNREFUSED.
func (l *Listener) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	if l.dial() {
		return nil, refused()
	}
	client, server := net.Pipe()
	err := l.offer(ctx, server)
	if err != nil {
		_ = client.Close()
		_ = server.Close()
		return nil, err
	}
	return client, nil
}

// Refuse makes the next n dials fail as at a closed port.
func (l *Listener) Refuse(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusal = n
}

// Dials returns how often DialContext was called, refused dials included.
func (l *Listener) Dials() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dials
}

// dial counts one dial and reports whether it is to be refused.
func (l *Listener) dial() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dials++
	if l.refusal == 0 {
		return false
	}
	l.refusal--
	return true
}

func (l *Listener) offer(ctx context.Context, conn net.Conn) error {
	if err := ctx.Err(); err != nil {
		return dialError(err)
	}
	select {
	case l.conns <- conn:
		return nil
	case <-l.done:
		return refused()
	case <-ctx.Done():
		return dialError(ctx.Err())
	}
}

func refused() error { return dialError(syscall.ECONNREFUSED) }

func dialError(err error) error {
	return &net.OpError{Op: "dial", Net: network, Addr: addr{}, Err: err}
}

const network = "mem"

type addr struct{}

func (addr) Network() string { return network }
func (addr) String() string  { return network }
