package archive

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"filippo.io/age"
	"golang.org/x/mod/sumdb/note"
)

// Keys are what an archive writes and reads with. A backup Job holds Recipients and Signer; a restore holds
// Identities and Trusted.
type Keys struct {
	// Recipients can read what is written; none means that nothing is encrypted.
	Recipients []age.Recipient
	// Identities open what is read.
	Identities []age.Identity
	// Signer signs what is written.
	Signer note.Signer
	// Trusted are the signatures that are accepted; one is enough.
	Trusted note.Verifiers
}

// ParseKeys reads keys as text: public and secret keys of age, and a signing key and the trusted public ones of
// the "signed note" format, as NewSigner makes them. No error repeats a secret.
func ParseKeys(recipients, identities []string, signer string, trusted []string) (Keys, error) {
	var k Keys
	for _, text := range recipients {
		r, err := parseRecipient(strings.TrimSpace(text))
		if err != nil {
			return Keys{}, err
		}
		k.Recipients = append(k.Recipients, r)
	}
	for _, text := range identities {
		ids, err := age.ParseIdentities(strings.NewReader(text))
		if err != nil {
			return Keys{}, errors.New("read a secret key of age: it is none; such as \"AGE-SECRET-KEY-1...\"")
		}
		k.Identities = append(k.Identities, ids...)
	}
	if signer != "" {
		s, err := note.NewSigner(strings.TrimSpace(signer))
		if err != nil {
			return Keys{}, errors.New("read the signing key: it is none; such as \"PRIVATE+KEY+NAME+...\"")
		}
		k.Signer = s
	}
	verifiers := make([]note.Verifier, len(trusted))
	for i, text := range trusted {
		v, err := note.NewVerifier(strings.TrimSpace(text))
		if err != nil {
			return Keys{}, fmt.Errorf("read the trusted key %.80q: %w", text, err)
		}
		verifiers[i] = v
	}
	k.Trusted = note.VerifierList(verifiers...)
	return k, nil
}

func parseRecipient(text string) (age.Recipient, error) {
	var r age.Recipient
	var err error
	if strings.HasPrefix(text, "age1pq1") {
		r, err = age.ParseHybridRecipient(text)
	} else {
		r, err = age.ParseX25519Recipient(text)
	}
	if err != nil {
		return nil, fmt.Errorf("read the recipient %.80q: %w", text, err)
	}
	return r, nil
}

// RecipientsOf are the public keys of secret ones.
func RecipientsOf(identities string) ([]string, error) {
	ids, err := age.ParseIdentities(strings.NewReader(identities))
	if err != nil {
		return nil, errors.New("it holds no secret key of age, such as \"AGE-SECRET-KEY-1...\"")
	}
	out := make([]string, len(ids))
	for i, id := range ids {
		switch id := id.(type) {
		case *age.X25519Identity:
			out[i] = id.Recipient().String()
		case *age.HybridIdentity:
			out[i] = id.Recipient().String()
		default:
			return nil, fmt.Errorf("the public key of a %T is not known", id)
		}
	}
	return out, nil
}

// NewIdentity makes a key pair of age.
func NewIdentity() (secret, recipient string, err error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return "", "", fmt.Errorf("make a key: %w", err)
	}
	return id.String(), id.Recipient().String(), nil
}

// NewSigner makes a key pair for signatures. The name is shown with them; it has no space and no "+".
func NewSigner(name string) (secret, public string, err error) {
	secret, public, err = note.GenerateKey(rand.Reader, name)
	if err != nil {
		return "", "", fmt.Errorf("make a signing key: %w", err)
	}
	return secret, public, nil
}
