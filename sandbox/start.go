package sandbox

// TB is what Start needs of a *testing.T, *testing.B or *rapid.T, so that
// programs that run the sandbox do not link package testing.
type TB interface {
	Helper()
	Cleanup(f func())
	Fatalf(format string, args ...any)
}

// Start returns a server that listens on a free port of the loopback interface
// until the test ends. It opens a real socket, so not inside a synctest bubble:
// there, use New and Serve.
func Start(tb TB, opts ...Option) *Server {
	tb.Helper()
	s := New(opts...)
	if err := s.Listen(); err != nil {
		tb.Fatalf("sandbox: %v", err)
	}
	tb.Cleanup(func() {
		// What Close returns is the error of a listener that is gone anyway.
		_ = s.Close()
	})
	return s
}
