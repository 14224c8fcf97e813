package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// runner runs the tests over mutants.
type runner struct {
	root     string
	packages []string
	// arguments go to the test binaries.
	arguments []string
	timeout   time.Duration
	folder    string
}

type verdict string

const (
	seen     verdict = "seen"
	survived verdict = "SURVIVED"
	invalid  verdict = "does not compile"
)

// all runs every mutant and returns how many survived.
func (r *runner) all(mutants []mutant) (int, error) {
	folder, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // temporary
	r.folder = folder
	if output, err := r.test(""); err != nil {
		return 0, fmt.Errorf("the tests fail without any change: %w\n%s", err, output)
	}
	count := map[verdict]int{}
	for i, mutant := range mutants {
		began := time.Now()
		found, err := r.run(mutant)
		if err != nil {
			return 0, err
		}
		count[found]++
		fmt.Printf("%d/%d %s %s (%s)\n", i+1, len(mutants), found, mutant, time.Since(began).Round(100*time.Millisecond))
	}
	fmt.Printf("%d seen, %d survived, %d do not compile\n", count[seen], count[survived], count[invalid])
	return count[survived], nil
}

func (r *runner) run(m mutant) (verdict, error) {
	overlay, err := r.overlay(m)
	if err != nil {
		return "", err
	}
	output, err := r.test(overlay)
	switch {
	case bytes.Contains(output, []byte("[build failed]")):
		fmt.Printf("%s", output)
		return invalid, nil
	case err == nil:
		return survived, nil
	}
	return seen, nil
}

// overlay writes the changed file beside the checkout, and tells the compiler which one it stands for.
func (r *runner) overlay(m mutant) (string, error) {
	original, err := filepath.Abs(m.path)
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(original) //nolint:gosec // a file that the caller names
	if err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(r.folder, "mutant.go"), filepath.Join(r.folder, "overlay.json")
	if err := os.WriteFile(changed, m.apply(source), 0o600); err != nil { //nolint:gosec // in a folder of our own
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// test runs the tests; vet is not what is asked here.
func (r *runner) test(overlay string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
	defer cancel()
	args := []string{"test", "-short", "-failfast", "-vet=off"}
	if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	args = append(args, r.packages...)
	command := exec.CommandContext(ctx, "go", append(args, r.arguments...)...) //nolint:gosec // the caller's own arguments
	command.Dir = r.root
	output, err := command.CombinedOutput()
	if ctx.Err() != nil && err != nil {
		return output, errors.Join(err, ctx.Err())
	}
	return output, err
}
