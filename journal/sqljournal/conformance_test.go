package sqljournal_test

import (
	"crypto/aes"
	"crypto/cipher"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez/journal/journaltest"
	"github.com/unavez/unavez/journal/sqljournal"
)

func TestConformance(t *testing.T) { //nolint:tparallel // journaltest.Run calls it
	t.Parallel()
	conforms(t)
}

func TestConformanceSealed(t *testing.T) { //nolint:tparallel // journaltest.Run calls it
	t.Parallel()
	conforms(t, sqljournal.WithBodyCipher(newCipher(t, 1)))
}

func conforms(t *testing.T, options ...sqljournal.Option) {
	t.Helper()
	for name, newPlace := range map[string]func(testing.TB) place{"SQLite": newSQLite, "PostgreSQL": newPostgreSQL} {
		t.Run(name, func(t *testing.T) {
			journaltest.Run(t, func(t *testing.T, check func(*testing.T, journaltest.Subject)) {
				t.Helper()
				journal, db := newPlace(t).open(t, options...)
				check(t, journaltest.Subject{
					Journal: journal,
					Pass:    func(t *testing.T, d time.Duration) { t.Helper(); pass(t, db, d) },
				})
			})
		})
	}
}

func newCipher(t testing.TB, seed byte) cipher.AEAD {
	t.Helper()
	key := make([]byte, 32)
	key[0] = seed
	block, err := aes.NewCipher(key)
	require.NoError(t, err)
	aead, err := cipher.NewGCM(block)
	require.NoError(t, err)
	return aead
}
