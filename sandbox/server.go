package sandbox

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// A Server is the four providers in one http.Handler. Make it with New or Start.
// All its methods are safe for concurrent use.
type Server struct {
	settings settings
	mux      *http.ServeMux
	http     *http.Server
	serving  sync.WaitGroup
	done     chan struct{} // closed by Close
	closing  sync.Once

	mu       sync.Mutex // guards what follows, and all that the dialects keep
	url      string
	offset   time.Duration
	moved    chan struct{} // closed and replaced by Advance
	jobs     []*job
	ids      ids
	ledger   []Entry
	requests []*Request
	scripts  scripts
}

var _ http.Handler = (*Server)(nil)

// New returns a server that listens nowhere yet: it can be used as a handler, or
// be given a listener with Serve or Listen. Inside a synctest bubble it has to be
// made in the bubble.
func New(opts ...Option) *Server {
	s := &Server{
		settings: settings{clock: time.Now},
		mux:      http.NewServeMux(),
		done:     make(chan struct{}),
		moved:    make(chan struct{}),
		scripts:  scripts{keyed: map[string][]Fault{}},
	}
	for _, opt := range opts {
		opt.apply(&s.settings)
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	newFacty(s).mount(s.mux)
	newIpsofactura(s).mount(s.mux)
	newFiscalisto(s).mount(s.mux)
	newPayouts(s).mount(s.mux)
	return s
}

// ServeHTTP answers one request, and records it before anything else. A request
// that no provider knows is answered 404 or 405. Faults that break the
// connection need a ResponseWriter that can be hijacked; elsewhere they abort
// the handler with http.ErrAbortHandler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mux.ServeHTTP(w, s.arrive(r))
}

// Serve answers the connections that l accepts until Close, and then returns
// nil; before that it returns only with the listener's error. It closes l. It may
// run on several listeners at once.
func (s *Server) Serve(l net.Listener) error {
	err := s.http.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Listen starts serving on a free port of the loopback interface, in the
// background, and sets URL.
func (s *Server) Listen() error {
	var config net.ListenConfig
	l, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.url = "http://" + l.Addr().String()
	s.mu.Unlock()
	s.serving.Go(func() {
		// Serve ends with the listener, and there is nobody to tell.
		_ = s.Serve(l)
	})
	return nil
}

// URL returns the base URL for every provider, without a slash at the end, or ""
// before Listen.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// Close closes the listeners and all connections, and ends every handler that is
// waiting. The ledger and the requests can still be read afterwards. It may be
// called again.
func (s *Server) Close() error {
	s.closing.Do(func() { close(s.done) })
	err := s.http.Close()
	s.serving.Wait()
	return err
}
