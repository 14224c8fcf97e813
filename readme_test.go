package unavez_test

import (
	"bufio"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

// documents are what a stranger reads, in this order.
func documents() []string {
	return []string{"README.md", "docs/providers.md", "docs/adding-a-provider.md"}
}

// block is a fenced block of a document.
type block struct{ language, text string }

func blocksOf(t *testing.T, name, language string) []string {
	t.Helper()
	file, err := os.Open(name)
	require.NoError(t, err)
	defer file.Close()
	var found []string
	var open *block
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fence, isFence := strings.CutPrefix(lines.Text(), "```")
		switch {
		case isFence && open == nil:
			open = &block{language: fence}
		case isFence:
			if open.language == language {
				found = append(found, open.text)
			}
			open = nil
		case open != nil:
			open.text += lines.Text() + "\n"
		}
	}
	require.NoError(t, lines.Err())
	require.Nil(t, open, "%s has a block that does not end", name)
	return found
}

// withoutIndent makes a part of a function comparable with the same lines in a document.
func withoutIndent(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}

func TestEveryGoBlockOfTheDocumentsIsCompiled(t *testing.T) {
	t.Parallel()
	var sources []string
	require.NoError(t, filepath.WalkDir("examples", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		source, err := os.ReadFile(path)
		sources = append(sources, withoutIndent(string(source)))
		return err
	}))
	count := 0
	for _, name := range documents() {
		for _, text := range blocksOf(t, name, "go") {
			count++
			isCompiled := slices.ContainsFunc(sources, func(source string) bool { return strings.Contains(source, withoutIndent(text)) })
			require.True(t, isCompiled, "%s has a block that is in no file below examples:\n%s", name, text)
		}
	}
	require.Greater(t, count, 5, "blocks of Go in the documents")
}

func TestEveryLinkOfTheDocumentsLeadsSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)]+)\)`)
	for _, name := range documents() {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			target, err := url.Parse(match[1])
			require.NoError(t, err)
			if target.Host != "" || target.Path == "" {
				continue
			}
			_, err = os.Stat(filepath.Join(filepath.Dir(name), target.Path))
			require.NoError(t, err, name)
		}
	}
}

func TestReadmeNamesEveryStepAndDisposition(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, next := range []unavez.Next{
		unavez.NextResend, unavez.NextReconcile, unavez.NextFixSameKey, unavez.NextFixNewKey, unavez.NextReview,
	} {
		require.Contains(t, string(text), "`"+string(next)+"`")
	}
	for _, sentinel := range []string{"ErrRefused", "ErrRetryLater", "ErrNeedsManualReview", "ErrOutcomeUnknown", "ErrKeyReused"} {
		require.Contains(t, string(text), "`"+sentinel+"`")
	}
}

func TestReadmeShowsLinesThatTheQuickstartPrints(t *testing.T) {
	t.Parallel()
	printed, err := os.ReadFile("examples/quickstart/testdata/facty.txt")
	require.NoError(t, err)
	shown := blocksOf(t, "README.md", "text")
	require.Len(t, shown, 1)
	for line := range strings.Lines(shown[0]) {
		require.Contains(t, string(printed), line)
	}
}

func TestEveryCommandOfTheReadmeRuns(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	commands := strings.FieldsFunc(strings.Join(blocksOf(t, "README.md", "sh"), ""), func(r rune) bool { return r == '\n' })
	for _, match := range regexp.MustCompile("`((?:go|make) [^`]+)`").FindAllStringSubmatch(string(text), -1) {
		commands = append(commands, match[1])
	}
	module := newModuleBesideTheCheckout(t)
	for _, command := range commands {
		switch words := strings.Fields(command); words[0] + " " + words[1] {
		case "make test": // this is what runs now
			require.FileExists(t, "Makefile")
		case "go run":
			output := runIn(t, ".", command)
			require.Regexp(t, `keys with 0, 0 keys with 2 or more\.\n$`, output, command)
		case "go mod", "go get":
			runIn(t, module, command)
		default:
			require.Fail(t, "README.md has a command that no test runs", command)
		}
	}
	program := blocksOf(t, "README.md", "go")[0]
	require.NoError(t, os.WriteFile(filepath.Join(module, "main.go"), []byte(program), 0o600))
	runIn(t, module, "go build .")
}

// newModuleBesideTheCheckout is the reader's own program, as the README finds it.
func newModuleBesideTheCheckout(t *testing.T) string {
	t.Helper()
	root, err := os.Getwd()
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, os.Symlink(root, filepath.Join(folder, "unavez")))
	module := filepath.Join(folder, "erp")
	require.NoError(t, os.Mkdir(module, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(module, "go.mod"), []byte("module example.com/erp\n\ngo 1.25.0\n"), 0o600))
	return module
}

func runIn(t *testing.T, folder, command string) string {
	t.Helper()
	words := strings.Fields(command)
	run := exec.CommandContext(t.Context(), words[0], words[1:]...)
	run.Dir = folder
	output, err := run.CombinedOutput()
	require.NoError(t, err, "%s in %s:\n%s", command, folder, output)
	return string(output)
}

func TestProgramOfTheReadmeTellsTheThreeDispositionsApart(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "first-invoice")
	runIn(t, ".", "go build -o "+program+" ./examples/first-invoice")
	for name, test := range map[string]struct {
		fault sandbox.Fault
		want  string
	}{
		"stamped":     {sandbox.ResetAfter(), `^stamped: [0-9A-F-]{36}\n$`},
		"retry later": {sandbox.TooMany("3600"), `^again in 1h0m0s with the same key: mi-erp:test:factura:4471\n$`},
		"review":      {sandbox.PendingThenFail(0), `^a person decides about mi-erp:test:factura:4471\nWhat is known: (.+\n)+$`},
		"refused":     {sandbox.Reject("CFDI40147"), `^correct it: .*CFDI40147.* map\[items:.*\]\n$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := sandbox.Start(t)
			server.Script(test.fault)
			run := exec.CommandContext(t.Context(), program)
			run.Env = append(os.Environ(), "FACTY_HOST="+server.URL(), "FACTY_ORG=acme", "FACTY_KEY=fk_test")
			output, err := run.CombinedOutput()
			require.NoError(t, err, "%s", output)
			require.Regexp(t, test.want, string(output))
		})
	}
}
