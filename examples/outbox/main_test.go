package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary be the shop that the tour starts.
func TestMain(m *testing.M) {
	if os.Getenv("OUTBOX_SHOP") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestTour(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-path", filepath.Join(t.TempDir(), "shop.db")}, &out))
	require.Contains(t, out.String(), "killed. The provider has stamped 2 of 3 sales")
	require.Contains(t, out.String(), "Stamps at the provider: 3\n")
	require.Contains(t, out.String(), "stamped tienda:test:venta:2: ")
	require.NotContains(t, out.String(), "to be decided")
}
