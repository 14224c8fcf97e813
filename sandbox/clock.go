package sandbox

import (
	"context"
	"time"
)

// A job is work that happens later, whether or not anybody still waits for it.
type job struct {
	due    time.Time
	run    func(at time.Time) answer
	done   bool
	answer answer
}

// Now returns the server's time: its clock, and whatever Advance added.
func (s *Server) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

// Advance moves the server's time forward by d, at once: keys grow older,
// pending work settles, and faults that wait for a moment now past end their
// wait. The time of the client does not move.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset += d
	close(s.moved)
	s.moved = make(chan struct{})
	s.settle()
}

func (s *Server) now() time.Time { return s.settings.clock().Add(s.offset) }

// schedule adds work for the time due. Needs the mutex.
func (s *Server) schedule(due time.Time, run func(at time.Time) answer) *job {
	j := &job{due: due, run: run}
	s.jobs = append(s.jobs, j)
	return j
}

// settle runs all work that is due, each at its own time and in that order, and
// returns the time that it is now. It is called before the state is looked at,
// so no timer has to run for work that nobody waits for. Needs the mutex.
func (s *Server) settle() time.Time {
	now := s.now()
	for {
		next := -1
		for i, j := range s.jobs {
			if !j.due.After(now) && (next < 0 || j.due.Before(s.jobs[next].due)) {
				next = i
			}
		}
		if next < 0 {
			return now
		}
		s.complete(s.jobs[next])
	}
}

// complete runs one job, once. Needs the mutex.
func (s *Server) complete(j *job) answer {
	if j.done {
		return j.answer
	}
	j.done = true
	for i := range s.jobs {
		if s.jobs[i] == j {
			s.jobs = append(s.jobs[:i], s.jobs[i+1:]...)
			break
		}
	}
	j.answer = j.run(j.due)
	return j.answer
}

// await waits for a job, and reports false when the client or the server was
// gone before.
func (s *Server) await(ctx context.Context, j *job) (answer, bool) {
	if !s.sleepUntil(ctx, j.due) {
		return answer{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	return s.complete(j), true
}

// sleepUntil waits until the server's time is t, and reports false when the
// client or the server was gone before.
func (s *Server) sleepUntil(ctx context.Context, t time.Time) bool {
	for {
		s.mu.Lock()
		left, moved := t.Sub(s.now()), s.moved
		s.mu.Unlock()
		if left <= 0 {
			return true
		}
		woken, ok := s.sleep(ctx, left, moved)
		if !ok || !woken {
			return ok
		}
	}
}

// sleep waits for d, or less if woken by moved; ok is false when the client or
// the server was gone before.
func (s *Server) sleep(ctx context.Context, d time.Duration, moved <-chan struct{}) (woken, ok bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false, true
	case <-moved:
		return true, true
	case <-ctx.Done():
	case <-s.done:
	}
	return false, false
}

// hang waits until the client or the server is gone.
func (s *Server) hang(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.done:
	}
}
