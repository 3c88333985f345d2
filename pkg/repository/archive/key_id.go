package archive

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// KeyID names a public key for signatures, as NewSigner makes it: eight hexadecimal digits, as they are in its text.
func KeyID(public string) (string, error) {
	v, err := note.NewVerifier(strings.TrimSpace(public))
	if err != nil {
		return "", fmt.Errorf("read the trusted key %.80q: %w", public, err)
	}
	return keyID(v.KeyHash()), nil
}

// SignerID is the KeyID of the public half of a signing key. No error repeats the secret.
func SignerID(secret string) (string, error) {
	s, err := note.NewSigner(strings.TrimSpace(secret))
	if err != nil {
		return "", errors.New("read the signing key: it is none; such as \"PRIVATE+KEY+NAME+...\"")
	}
	return keyID(s.KeyHash()), nil
}

func keyID(hash uint32) string { return fmt.Sprintf("%08x", hash) }

// signedBy names the keys of signatures that nobody trusts, for people: who made them chose the names.
func signedBy(sigs []note.Signature) string {
	const most = 3
	var out []string
	for _, s := range sigs[:min(most, len(sigs))] {
		out = append(out, fmt.Sprintf("%s (%.60q)", keyID(s.Hash), s.Name))
	}
	return strings.Join(out, ", ")
}
