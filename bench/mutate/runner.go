package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// round is one run of one package's tests. A mutant goes through the rounds in their order and leaves at the first test that fails, so the
// quick rounds come first.
type round struct {
	// folder is that of the package, from the root of the module.
	folder    string
	arguments []string
}

// waiting are the tests that wait in real time, on real sockets. They come last. Those that start the compiler see no mutant.
const (
	waiting = "ConversationThatBreaksOff|StreamThatBreaksOff|LeaveNothingBehind|NothingWasSentWhere|ExampleInvoices_Await|" +
		"IsBoundedByItsDefault|AnswerOfAnySize"
	compiling = "Readme"
)

// rounds are what a mutant has to live through.
func rounds() []round {
	return []round{
		{".", []string{"-test.run=^TestRows"}},
		{"providers/facty", nil},
		{"providers/ipsofactura", nil},
		{"providers/fiscalisto", nil},
		{"providers/payouts", nil},
		{"internal/campaign", nil},
		{".", []string{"-test.skip=^TestRows|" + compiling + "|" + waiting, "-rapid.checks=20"}},
		{".", []string{"-test.run=" + waiting}},
	}
}

// runner runs the tests over mutants.
type runner struct {
	root     string
	rounds   []round
	binaries map[string]string
	workers  int
	timeout  time.Duration
}

// numbered is a mutant with the number that switches it on.
type numbered struct {
	mutant
	number int
}

// prepare builds the tests with all mutants of the files, and sees that they pass as long as none is switched on.
func (r *runner) prepare(folder string, files []*finder) error {
	overlay, err := writeOverlay(folder, files)
	if err != nil {
		return err
	}
	r.binaries = map[string]string{}
	for _, round := range r.rounds {
		if r.binaries[round.folder] != "" {
			continue
		}
		if r.binaries[round.folder], err = build(r.root, folder, overlay, round.folder); err != nil {
			return err
		}
	}
	if by := r.seenBy(0); by != "" {
		return fmt.Errorf("without any change: %s fails", by)
	}
	return nil
}

// all runs every mutant and returns how many survived.
func (r *runner) all(mutants []numbered) int {
	var (
		group    sync.WaitGroup
		lock     sync.Mutex
		survived int
	)
	queue := make(chan numbered)
	for range r.workers {
		group.Go(func() {
			for mutant := range queue {
				began := time.Now()
				by := r.seenBy(mutant.number)
				lock.Lock()
				if by == "" {
					survived++
					fmt.Printf("SURVIVED %s (%s)\n", mutant, time.Since(began).Round(100*time.Millisecond))
				} else {
					fmt.Printf("seen %s by %s (%s)\n", mutant, by, time.Since(began).Round(100*time.Millisecond))
				}
				lock.Unlock()
			}
		})
	}
	for _, mutant := range mutants {
		queue <- mutant
	}
	close(queue)
	group.Wait()
	fmt.Printf("%d mutants: %d seen, %d survived\n", len(mutants), len(mutants)-survived, survived)
	return survived
}

// seenBy takes a mutant through the rounds, and returns the test that saw it, empty if none did.
func (r *runner) seenBy(number int) string {
	for _, round := range r.rounds {
		if by := r.play(round, number); by != "" {
			return by
		}
	}
	return ""
}

// play runs one round and returns the test that failed, empty if all passed. It does not wait for the end once a test has failed.
func (r *runner) play(round round, number int) string {
	ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
	defer cancel()
	arguments := append([]string{"-test.short", "-test.failfast", "-test.v", "-test.parallel=8"}, round.arguments...)
	command := exec.CommandContext(ctx, r.binaries[round.folder], arguments...) //nolint:gosec // what was just built
	command.Dir = filepath.Join(r.root, round.folder)
	command.Env = append(os.Environ(), switchVariable+"="+strconv.Itoa(number))
	// A test may have started others, which go with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	reader, writer := io.Pipe()
	command.Stdout, command.Stderr = writer, writer
	failed := make(chan string, 1)
	go func() { failed <- firstFailure(reader, cancel) }()
	err := command.Run()
	isLate := errors.Is(ctx.Err(), context.DeadlineExceeded)
	writer.Close() //nolint:errcheck,gosec // a pipe's writer never fails to close
	by := <-failed
	switch {
	case by != "":
		return by
	case isLate:
		return "its tests, which do not end"
	case err != nil:
		return "its tests, which break off: " + err.Error()
	}
	return ""
}

// firstFailure reads to the end of the output, and stops the run at the first test that failed.
func firstFailure(output io.Reader, stop func()) string {
	by := ""
	lines := bufio.NewReader(output)
	for {
		line, err := lines.ReadString('\n')
		if name, isFailure := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); isFailure && by == "" {
			by, _, _ = strings.Cut(name, " ")
			stop()
		}
		if err != nil {
			return by
		}
	}
}
