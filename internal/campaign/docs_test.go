package campaign_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryTestThatTheGuaranteesNameExists keeps the page from promising tests that somebody has renamed.
func TestEveryTestThatTheGuaranteesNameExists(t *testing.T) {
	t.Parallel()
	const root = "../.."
	var code strings.Builder
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		code.Write(text)
		return err
	}))
	for _, page := range []string{"guarantees.md", "performance.md", "testing.md"} {
		text, err := os.ReadFile(filepath.Join(root, "docs", page))
		require.NoError(t, err)
		for _, name := range regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Za-z0-9]+)`").FindAllStringSubmatch(string(text), -1) {
			require.Contains(t, code.String(), "func "+name[1]+"(", "%s names a test that does not exist", page)
		}
	}
}
