package campaign

import "slices"

// Shrink returns a history that is as small as dropping one thing after the other makes it while it still breaks: steps, faults,
// operations, latencies, and what else can be simpler. It asks breaks, which plays a history, some hundreds of times at most.
func Shrink(history History, breaks func(History) bool) History {
	budget := 600
	for {
		smaller, found := smallerThan(history, func(candidate History) bool {
			budget--
			return budget >= 0 && breaks(candidate)
		})
		if !found || budget <= 0 {
			return smaller
		}
		history = smaller
	}
}

// smallerThan tries every single simplification once, and keeps those that still break.
func smallerThan(history History, breaks func(History) bool) (History, bool) {
	found := false
	try := func(change func(*History)) {
		candidate := history.clone()
		change(&candidate)
		if breaks(candidate) {
			history, found = candidate, true
		}
	}
	for i := range slices.Backward(history.Steps) {
		try(func(h *History) { dropStep(h, i) })
	}
	for o := range history.Operations {
		for i := range slices.Backward(history.Writes[o]) {
			try(func(h *History) { h.Writes[o] = append(h.Writes[o][:i], h.Writes[o][i+1:]...) })
		}
		for i := range slices.Backward(history.Lookups[o]) {
			try(func(h *History) { h.Lookups[o] = append(h.Lookups[o][:i], h.Lookups[o][i+1:]...) })
		}
	}
	for p := range history.Processes {
		if history.Processes[p].Latency > 0 {
			try(func(h *History) { h.Processes[p].Latency = 0 })
		}
	}
	for i := range history.Steps {
		simplifyStep(&history.Steps[i], func(change func(*Step)) { try(func(h *History) { change(&h.Steps[i]) }) })
	}
	return history, found
}

// simplifyStep offers the simpler forms of a step that are not its own already.
func simplifyStep(step *Step, try func(func(*Step))) {
	if step.How != (How{}) {
		try(func(s *Step) { s.How = How{} })
	}
	if step.Clicks > 1 {
		try(func(s *Step) { s.Clicks = 1 })
	}
	if step.Deadline > 0 {
		try(func(s *Step) { s.Deadline = 0 })
	}
	if step.RefusedDials > 0 {
		try(func(s *Step) { s.RefusedDials = 0 })
	}
	if step.Insists {
		try(func(s *Step) { s.Insists = false })
	}
	if step.Process > 0 {
		try(func(s *Step) { s.Process = 0 })
	}
}

// dropStep drops a step and gives its pause to the next one.
func dropStep(h *History, i int) {
	if i+1 < len(h.Steps) {
		h.Steps[i+1].After += h.Steps[i].After
	}
	h.Steps = append(h.Steps[:i], h.Steps[i+1:]...)
}

// clone copies everything that a simplification changes.
func (h History) clone() History {
	twin := h
	twin.Steps = append([]Step(nil), h.Steps...)
	twin.Processes = append([]Process(nil), h.Processes...)
	twin.Writes, twin.Lookups = cloneFaults(h.Writes), cloneFaults(h.Lookups)
	return twin
}

func cloneFaults(faults [][]Fault) [][]Fault {
	twin := make([][]Fault, len(faults))
	for i := range faults {
		twin[i] = append([]Fault(nil), faults[i]...)
	}
	return twin
}
