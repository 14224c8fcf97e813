package sandbox

// Script queues faults for the writes to come, one each. It adds to what is
// queued already. When the queue is empty, requests pass. A fault that no request
// takes stays queued and hits the next one; Pending tells.
func (s *Server) Script(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts.writes = append(s.scripts.writes, faults...)
}

// ScriptKey queues faults for the writes under one idempotency key, which take
// them before those of Script.
func (s *Server) ScriptKey(key string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts.keyed[key] = append(s.scripts.keyed[key], faults...)
}

// ScriptLookups queues faults for the lookups to come, one each. What a fault says
// about executing means nothing for a lookup; how it travels, what it waits and
// what it answers instead do.
func (s *Server) ScriptLookups(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts.lookups = append(s.scripts.lookups, faults...)
}

// Pending returns how many queued faults no request has taken yet.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.scripts.writes) + len(s.scripts.lookups)
	for _, queue := range s.scripts.keyed {
		n += len(queue)
	}
	return n
}

// scripts are the queues of faults. Their methods need the mutex.
type scripts struct {
	writes  []Fault
	keyed   map[string][]Fault
	lookups []Fault
}

// write takes the fault for a write.
func (q *scripts) write(key string) Fault {
	if queue := q.keyed[key]; len(queue) > 0 {
		return q.writeKeyed(key)
	}
	return pop(&q.writes)
}

func (q *scripts) writeKeyed(key string) Fault {
	queue := q.keyed[key]
	f := pop(&queue)
	if len(queue) == 0 {
		delete(q.keyed, key)
		return f
	}
	q.keyed[key] = queue
	return f
}

// refusal takes the fault for a write whose body has not been read, if it is
// Refuse. An empty key may be one that is still in the body.
func (q *scripts) refusal(key string) bool {
	queue := q.keyed[key]
	if len(queue) > 0 {
		if queue[0].refuse {
			q.writeKeyed(key)
			return true
		}
		return false
	}
	if key == "" && len(q.keyed) > 0 {
		return false
	}
	if len(q.writes) == 0 || !q.writes[0].refuse {
		return false
	}
	pop(&q.writes)
	return true
}

// lookup takes the fault for a lookup.
func (q *scripts) lookup() Fault { return pop(&q.lookups) }

// pop takes the first of a queue, or Pass.
func pop(queue *[]Fault) Fault {
	if len(*queue) == 0 {
		return Pass()
	}
	f := (*queue)[0]
	*queue = (*queue)[1:]
	return f
}
