package local

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A verifier is what the server keeps of a password (RFC 5803): it proves who knows the password, and does not tell it.
const (
	verifierScheme = "SCRAM-SHA-256$"
	iterations     = 4096
	saltLength     = 16
)

// NewVerifier is what the server keeps of a password. Each one differs, by its salt.
func NewVerifier(password string) (string, error) {
	salt := make([]byte, saltLength)
	_, _ = rand.Read(salt) // it never fails
	return verifier(password, salt, iterations)
}

func verifier(password string, salt []byte, rounds int) (string, error) {
	salted, err := pbkdf2.Key(sha256.New, prepared(password), salt, rounds, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("compute what the server keeps of a password: %w", err)
	}
	stored := sha256.Sum256(authenticated(salted, "Client Key"))
	text := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("%s%d:%s$%s:%s", verifierScheme, rounds, text(salt), text(stored[:]),
		text(authenticated(salted, "Server Key"))), nil
}

func authenticated(key []byte, message string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(message))
	return h.Sum(nil)
}

// Verifies says whether a verifier is of a password.
func Verifies(kept, password string) bool {
	rest, scram := strings.CutPrefix(kept, verifierScheme)
	head, _, _ := strings.Cut(rest, "$")
	count, encoded, _ := strings.Cut(head, ":")
	rounds, err1 := strconv.Atoi(count)
	salt, err2 := base64.StdEncoding.DecodeString(encoded)
	if !scram || err1 != nil || err2 != nil {
		return false
	}
	again, err := verifier(password, salt, rounds)
	return err == nil && subtle.ConstantTimeCompare([]byte(again), []byte(kept)) == 1
}

// prepared is a password as both sides of SCRAM take it: by SASLprep (RFC 4013), or as it is if that prohibits it.
func prepared(password string) string {
	if !utf8.ValidString(password) {
		return password
	}
	mapped := norm.NFKC.String(strings.Map(func(r rune) rune {
		switch {
		case r > unicode.MaxASCII && unicode.Is(unicode.Zs, r), r == '\u200b':
			return ' '
		case r == '\u00ad', r == '\u034f', r == '\u1806', r >= '\u180b' && r <= '\u180d', r == '\u200c', r == '\u200d',
			r == '\u2060', r >= '\ufe00' && r <= '\ufe0f', r == '\ufeff':
			return -1
		}
		return r
	}, password))
	if strings.ContainsFunc(mapped, func(r rune) bool { return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) }) {
		return password
	}
	return mapped
}
