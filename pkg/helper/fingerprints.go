package helper

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Fingerprints are the SHA-256 of each certificate of a PEM file, in hexadecimal. None if there is no such file.
func Fingerprints(file string) ([]string, error) {
	raw, err := os.ReadFile(file) //nolint:gosec // a certificate is no secret
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the certificates of the Kubernetes cluster: %w", err)
	}
	var all []string
	for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			sum := sha256.Sum256(block.Bytes)
			all = append(all, hex.EncodeToString(sum[:]))
		}
	}
	return all, nil
}
