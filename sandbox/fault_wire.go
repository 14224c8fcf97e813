package sandbox

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Refuse closes the connection before the body of the request is read. Nothing
// is executed. Where the key travels in the body and faults are queued for keys,
// the body is read first, for there is no other way to know whose turn it is.
func Refuse() Fault { return Fault{name: "Refuse()", refuse: true} }

// HangBefore reads the request and then neither executes nor answers it until the
// client goes away. At the payouts API the key is in flight meanwhile, and for
// another 60 s, since the request was cut without an answer; the same holds for
// ResetBefore and CloseBefore.
func HangBefore() Fault {
	return Fault{name: "HangBefore()", before: true, cuts: true, deliver: hanging}
}

// HangAfter executes the request and does not answer until the client goes away.
func HangAfter() Fault { return Fault{name: "HangAfter()", deliver: hanging} }

// ResetBefore reads the request and resets the connection. Nothing is executed. On
// a connection that is not TCP it is CloseBefore.
func ResetBefore() Fault {
	return Fault{name: "ResetBefore()", before: true, cuts: true, deliver: resetting}
}

// ResetAfter executes the request and resets the connection instead of answering.
// On a connection that is not TCP it is CloseAfter.
func ResetAfter() Fault { return Fault{name: "ResetAfter()", deliver: resetting} }

// CloseBefore reads the request and closes the connection. Nothing is executed.
func CloseBefore() Fault {
	return Fault{name: "CloseBefore()", before: true, cuts: true, deliver: closing}
}

// CloseAfter executes the request and closes the connection instead of answering.
func CloseAfter() Fault { return Fault{name: "CloseAfter()", deliver: closing} }

// CutBody executes the request and answers with status line, header and full
// Content-Length, but only the first n bytes of the body; then it closes the
// connection. A body of n bytes or fewer arrives whole.
func CutBody(n int) Fault {
	return Fault{name: fmt.Sprintf("CutBody(%d)", n), deliver: func(x *exchange, a answer) {
		a.head(x.w, len(a.body))
		// Writing less than announced makes net/http close the connection.
		_, _ = x.w.Write(first(a.body, n))
	}}
}

// CutChunked executes the request and answers with a chunked body that ends after
// n bytes without its final chunk, even if these are all; then it closes the
// connection.
func CutChunked(n int) Fault {
	return Fault{name: fmt.Sprintf("CutChunked(%d)", n), deliver: func(x *exchange, a answer) {
		var out bytes.Buffer
		fmt.Fprintf(&out, "HTTP/1.1 %d %s\r\n", a.status, http.StatusText(a.status))
		header := a.header.Clone()
		header.Set("Transfer-Encoding", "chunked")
		// A bytes.Buffer takes everything.
		_ = header.Write(&out)
		out.WriteString("\r\n")
		if part := first(a.body, n); len(part) > 0 {
			fmt.Fprintf(&out, "%x\r\n%s\r\n", len(part), part)
		}
		conn := x.hijack()
		_, _ = conn.Write(out.Bytes())
		_ = conn.Close()
	}}
}

// StallBody executes the request, answers with status line, header, full
// Content-Length and the first n bytes of the body, and then says nothing more
// until the client goes away.
func StallBody(n int) Fault {
	return Fault{name: fmt.Sprintf("StallBody(%d)", n), deliver: func(x *exchange, a answer) {
		a.head(x.w, len(a.body))
		_, _ = x.w.Write(first(a.body, n))
		_ = http.NewResponseController(x.w).Flush()
		x.server.hang(x.r.Context())
	}}
}

// Late executes the request at once and answers after d.
func Late(d time.Duration) Fault {
	return Fault{name: fmt.Sprintf("Late(%s)", d), deliver: func(x *exchange, a answer) {
		if !x.server.sleepUntil(x.r.Context(), x.server.Now().Add(d)) {
			closing(x, answer{})
			return
		}
		a.send(x.w)
	}}
}

// GzipBomb executes the request and answers with its status and a body of so many
// MiB of zeros, which gzip makes a thousandth of on the wire.
func GzipBomb(mib int) Fault {
	return Fault{name: fmt.Sprintf("GzipBomb(%d)", mib), deliver: func(x *exchange, a answer) {
		a.body = zip(mib, make([]byte, 1<<20))
		a.with("Content-Encoding", "gzip").send(x.w)
	}}
}

// GzipCut executes the request and answers with its own body, zipped and without
// the trailer of the gzip format, under a Content-Length that fits.
func GzipCut() Fault {
	return Fault{name: "GzipCut()", deliver: func(x *exchange, a answer) {
		const trailer = 8
		zipped := zip(1, a.body)
		a.body = zipped[:len(zipped)-trailer]
		a.with("Content-Encoding", "gzip").send(x.w)
	}}
}

// GzipPlain executes the request and answers with its own body, which is labelled
// as gzip and is not.
func GzipPlain() Fault {
	return Fault{name: "GzipPlain()", deliver: func(x *exchange, a answer) {
		a.with("Content-Encoding", "gzip").send(x.w)
	}}
}

// zip compresses a block, repeated n times.
func zip(n int, block []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	for range n {
		// A bytes.Buffer takes everything.
		_, _ = w.Write(block)
	}
	_ = w.Close()
	return out.Bytes()
}

func first(body []byte, n int) []byte {
	return body[:max(0, min(n, len(body)))]
}

func hanging(x *exchange, _ answer) {
	x.server.hang(x.r.Context())
	// Returning would answer 200 if the server, and not the client, has gone.
	closing(x, answer{})
}

func closing(x *exchange, _ answer) { _ = x.hijack().Close() }

func resetting(x *exchange, _ answer) {
	conn := x.hijack()
	if tcp, ok := conn.(*net.TCPConn); ok {
		// Without lingering, closing discards what is unsent and sends RST.
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// hijack takes the connection over.
func (x *exchange) hijack() net.Conn {
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		// The only way left to break off, and the one that net/http provides.
		panic(http.ErrAbortHandler) //nolint:forbidigo // net/http recovers it
	}
	return conn
}
