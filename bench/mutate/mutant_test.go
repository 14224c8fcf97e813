package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const sample = `package sample

const first = Unknown

func rules() []Rule {
	return []Rule{{Status: 409, Effect: unavez.Unknown, Then: StepStop, AboutPayload: true, Marks: ErrX}}
}

func f(a, b int) bool {
	switch {
	case a == b && !g(Refused):
		return a < 1
	}
	switch h() {
	case Refused:
		return true
	}
	return false
}
`

func TestEveryDecisionOfAFileIsChangedOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sample.go")
	if err := os.WriteFile(path, []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	mutants, err := mutantsOf(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, mutant := range mutants {
		got = append(got, mutant.before+" → "+mutant.after)
		if string(mutant.apply([]byte(sample))) == sample {
			t.Errorf("%s changes nothing", mutant)
		}
	}
	want := []string{
		"Unknown → NotExecuted", "StepStop → StepResend", "true → false", "ErrX → nil",
		"== → !=", "&& → ||", "! → ", "Refused → RetryLater", "< → <=",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
