package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// switchVariable is the environment variable that switches one mutant on.
const switchVariable = "UNAVEZ_MUTANT"

// support is what the wrappers call. It is compiled into each package that has mutants.
const support = `
import (
	"cmp"
	"os"
	"strconv"
)

var mutantOn, _ = strconv.Atoi(os.Getenv("` + switchVariable + `"))

func mutantPick[T any](n int, value, other T) T {
	if mutantOn == n {
		return other
	}
	return value
}

func mutantFlip(n int, value bool) bool { return value != (mutantOn == n) }

func mutantAnd(n int, a bool, b func() bool) bool {
	if mutantOn == n {
		return a || b()
	}
	return a && b()
}

func mutantOr(n int, a bool, b func() bool) bool {
	if mutantOn == n {
		return a && b()
	}
	return a || b()
}

func mutantLess[T cmp.Ordered](n int, a, b T) bool           { return a < b || mutantOn == n && a == b }
func mutantLessOrEqual[T cmp.Ordered](n int, a, b T) bool    { return a < b || mutantOn != n && a == b }
func mutantGreater[T cmp.Ordered](n int, a, b T) bool        { return a > b || mutantOn == n && a == b }
func mutantGreaterOrEqual[T cmp.Ordered](n int, a, b T) bool { return a > b || mutantOn != n && a == b }
`

// edit is a piece of text that takes the place of another.
type edit struct {
	offset, length int
	text           string
	// kind and tie order the edits of one place: what ends there comes before what begins there, the inner end before the
	// outer one and the outer beginning before the inner one.
	kind, tie int
}

const (
	isEnd = iota
	isMiddle
	isBeginning
)

// withAll returns the file with all its mutants, of which the first has the number first.
func (f *finder) withAll(first int) []byte {
	var edits []edit
	for i, m := range f.found {
		edits = append(edits,
			edit{offset: m.start, text: m.prefix + "(" + strconv.Itoa(first+i) + ", ", kind: isBeginning, tie: -m.end},
			edit{offset: m.end, text: m.suffix, kind: isEnd, tie: -m.start})
		if m.operator > 0 {
			edits = append(edits, edit{offset: m.operator, length: len(m.before), text: m.infix, kind: isMiddle})
		}
	}
	for _, offset := range f.constants {
		edits = append(edits, edit{offset: offset, length: len("const"), text: "var", kind: isMiddle})
	}
	slices.SortFunc(edits, func(a, b edit) int {
		return cmp.Or(a.offset-b.offset, a.kind-b.kind, a.tie-b.tie)
	})
	var changed bytes.Buffer
	at := 0
	for _, edit := range edits {
		changed.Write(f.source[at:edit.offset])
		changed.WriteString(edit.text)
		at = edit.offset + edit.length
	}
	changed.Write(f.source[at:])
	return changed.Bytes()
}

// writeOverlay writes the changed files into folder, and the list that tells the compiler which ones they stand for. Mutants count from
// one, in the order of the files.
func writeOverlay(folder string, files []*finder) (string, error) {
	replace := map[string]string{}
	add := func(original string, text []byte) error {
		path, err := filepath.Abs(original)
		if err != nil {
			return err
		}
		if _, isThere := replace[path]; !isThere {
			replace[path] = filepath.Join(folder, strconv.Itoa(len(replace))+".go")
		}
		return os.WriteFile(replace[path], text, 0o600)
	}
	first := 1
	for _, file := range files {
		if err := add(file.path, file.withAll(first)); err != nil {
			return "", err
		}
		first += len(file.found)
		if err := add(filepath.Join(filepath.Dir(file.path), "mutant_support.go"), []byte("package "+file.packageName+"\n"+support)); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// build compiles the tests of a package with all mutants in it.
func build(root, folder, overlay, of string) (string, error) {
	binary := filepath.Join(folder, strings.NewReplacer(".", "root", "/", "_").Replace(of)+".test")
	args := []string{"test", "-c", "-vet=off", "-overlay=" + overlay, "-o", binary, "./" + of}
	command := exec.CommandContext(context.Background(), "go", args...) //nolint:gosec // our own arguments
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", of, err, output)
	}
	return binary, nil
}
