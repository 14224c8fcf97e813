package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const sample = `package main

import (
	"fmt"
	"time"
)

type effect int

const (
	Unknown effect = iota
	NotExecuted
)

const margin = 5 * time.Minute

type rule struct {
	Status       int
	Code         string
	Effect       effect
	AboutPayload bool
	Marks        error
}

func rules() []rule {
	return []rule{{Status: 4, Code: "IN_FLIGHT", Effect: Unknown, AboutPayload: true, Marks: fmt.Errorf("x")}}
}

func g(e effect) bool { return e == Unknown }

func f(a, b int) (bool, bool) {
	switch {
	case a == b &&
		!g(NotExecuted) || a >= 7:
		return a < 1, a <= 1
	}
	switch effect(a) {
	case NotExecuted:
		return a > 1, true
	}
	return false, a > 5
}

func main() {
	fmt.Println(margin, rules(), g(Unknown))
	for i := range 81 {
		fmt.Println(f(i/9, i%9))
	}
}
`

func found(t *testing.T) *finder {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sample.go")
	if err := os.WriteFile(path, []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := readMutants(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestEveryDecisionOfAFileIsChangedOnce(t *testing.T) {
	t.Parallel()
	var got []string
	for _, mutant := range found(t).found {
		got = append(got, mutant.before+" → "+mutant.after)
	}
	want := []string{
		"5 * time.Minute → 6 * time.Minute",
		"4 → 0", `"IN_FLIGHT" → ""`, "Unknown → NotExecuted", "true → false", `fmt.Errorf("x") → nil`,
		"== → !=", "Unknown → NotExecuted",
		"|| → &&", "&& → ||", "== → !=", "! → ", "NotExecuted → Unknown", ">= → >", "< → <=", "<= → <", "> → >=", "> → >=",
		"Unknown → NotExecuted",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestMutantChangesNothingUntilItIsSwitchedOn(t *testing.T) {
	t.Parallel()
	file := found(t)
	folder := filepath.Dir(file.path)
	overlay, err := writeOverlay(t.TempDir(), []*finder{file})
	if err != nil {
		t.Fatal(err)
	}
	program := func(args ...string) string {
		binary := filepath.Join(t.TempDir(), "sample")
		command := exec.Command("go", append(append([]string{"build", "-o", binary}, args...), file.path)...)
		command.Dir = folder
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		return binary
	}
	said := func(binary, number string) string {
		command := exec.Command(binary)
		command.Env = append(os.Environ(), switchVariable+"="+number)
		output, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(output)
	}
	plain := said(program(), "0")
	text, err := os.ReadFile(overlay)
	if err != nil || !strings.Contains(string(text), "mutant_support.go") {
		t.Fatalf("the overlay lists no support: %v\n%s", err, text)
	}
	mutated := program("-overlay="+overlay, filepath.Join(folder, "mutant_support.go"))
	if said(mutated, "0") != plain {
		t.Error("the program says something else though no mutant is switched on")
	}
	for i, mutant := range file.found {
		if said(mutated, strconv.Itoa(i+1)) == plain {
			t.Errorf("%s changes nothing", mutant)
		}
	}
}
