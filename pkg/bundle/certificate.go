package bundle

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"time"
)

// certificates reads what PEM certificates say, as plain maps; nil if there are none.
func certificates(value []byte) []any {
	var out []any
	for {
		var block *pem.Block
		if block, value = pem.Decode(value); block == nil {
			return out
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		sum := sha256.Sum256(c.Raw)
		names := make([]any, 0, len(c.DNSNames)+len(c.IPAddresses))
		for _, n := range c.DNSNames {
			names = append(names, n)
		}
		for _, ip := range c.IPAddresses {
			names = append(names, ip.String())
		}
		out = append(out, map[string]any{"subject": c.Subject.String(), "issuer": c.Issuer.String(), "names": names,
			"authority": c.IsCA,
			"notBefore": c.NotBefore.UTC().Format(time.RFC3339), "notAfter": c.NotAfter.UTC().Format(time.RFC3339),
			"sha256": hex.EncodeToString(sum[:])})
	}
}

// decoded is a Secret's value: in data it is base64.
func decoded(field, text string) []byte {
	if field != "data" {
		return []byte(text)
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return []byte(text)
	}
	return raw
}
