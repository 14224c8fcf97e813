package sqljournal

import (
	"crypto/cipher"
	"errors"
)

// Option configures a [Journal] in [New].
type Option interface {
	apply(config *config) error
}

type config struct {
	migrate bool
	cipher  cipher.AEAD
}

type option func(*config) error

func (o option) apply(c *config) error { return o(c) }

// WithoutMigration makes [New] change nothing in the schema: one that is missing or outdated is [ErrSchemaMissing]. For teams
// that apply [Schema] with a tool of their own, and for a database role that may not create tables.
func WithoutMigration() Option {
	return option(func(c *config) error {
		c.migrate = false
		return nil
	})
}

// WithBodyCipher seals every body and document before it is written, with a random nonce for each and the record's id as
// additional data, so that a sealed text moved to another row does not open. Keys, fingerprints, codes and states stay
// readable. Rows written before are still read; a sealed row without its cipher is [ErrSealed], before anything is sent.
//
// What it costs: nobody can read a body with a query any more, and whoever loses the key loses every unresolved body, which then
// can be looked up and not resent. An AEAD with nonces of 12 bytes (AES-GCM) must not seal more than 2^32 texts under
// one key. To change keys, give an AEAD that seals with the new key and opens with both.
func WithBodyCipher(aead cipher.AEAD) Option {
	return option(func(c *config) error {
		if aead == nil {
			return errors.New("sqljournal: body cipher is nil")
		}
		c.cipher = aead
		return nil
	})
}
