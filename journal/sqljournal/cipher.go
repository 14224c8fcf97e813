package sqljournal

import (
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"github.com/unavez/unavez"
)

// purpose keeps a sealed document from being read as a body.
type purpose string

const (
	purposeBody     purpose = "body"
	purposeDocument purpose = "document"
)

// box seals and opens the bytes of records. Without a cipher it passes them through.
type box struct{ aead cipher.AEAD }

// seal returns what is stored and whether it is sealed.
func (b box) seal(id unavez.RecordID, use purpose, plain []byte) (stored []byte, sealed int) {
	if b.aead == nil || plain == nil {
		return plain, 0
	}
	stored = make([]byte, b.aead.NonceSize(), b.aead.NonceSize()+len(plain)+b.aead.Overhead())
	_, _ = rand.Read(stored) // never fails: it ends the program instead
	return b.aead.Seal(stored, stored, plain, additional(id, use)), 1
}

func (b box) open(id unavez.RecordID, use purpose, stored []byte, sealed int) ([]byte, error) {
	if sealed == 0 || stored == nil {
		return stored, nil
	}
	if b.aead == nil {
		return nil, fmt.Errorf("%w: %s, expected WithBodyCipher", ErrSealed, use)
	}
	size := b.aead.NonceSize()
	if len(stored) < size {
		return nil, fmt.Errorf("%w: %s is shorter than a nonce", ErrSealed, use)
	}
	plain, err := b.aead.Open(nil, stored[:size], stored[size:], additional(id, use))
	if err != nil {
		return nil, fmt.Errorf("%w: %s does not open", ErrSealed, use)
	}
	return plain, nil
}

// additional frames the record's id so that no two ids give the same bytes.
func additional(id unavez.RecordID, use purpose) []byte {
	parts := [...]string{"unavez", id.Provider, id.Account, id.Key, string(use)}
	framed := make([]byte, 0, 64)
	for _, part := range parts {
		framed = binary.AppendUvarint(framed, uint64(len(part)))
		framed = append(framed, part...)
	}
	return framed
}
