//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/certificate"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// checkAlone refuses an agent without certificates that anybody but its own pod could reach.
func (c config) checkAlone() error {
	if !c.Alone {
		return nil
	}
	for _, address := range []string{c.Listen, c.API.Listen} {
		host, _, err := net.SplitHostPort(address)
		if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
			return fmt.Errorf("an agent that is alone listens on its own loopback, and %q is not there", address)
		}
	}
	switch {
	case len(c.InitialMembers) != 1:
		return errors.New("an agent that is alone is the only initial member")
	case c.Proxy.Listen+c.Proxy.ReadOnly+c.Health.Listen != "" || c.Sentinel != nil:
		return errors.New("an agent that is alone takes no clients and no probes")
	}
	return nil
}

// identify returns what proves this member to other agents. One that is alone has none to prove itself to.
func (c config) identify() (*certificate.Keeper, error) {
	if !c.Alone {
		return certificate.Open(c.Identity)
	}
	own, authority, err := ownCertificate(c.Member)
	return certificate.Fixed(certificate.Identity{Own: own, Authority: authority}), err
}

// aloneLife is how long the certificate of an agent that is alone is valid.
const aloneLife = 24 * time.Hour

func ownCertificate(id protocol.MemberID) (tls.Certificate, *x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("make a certificate: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: string(id)}, DNSNames: []string{string(id)},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(aloneLife), IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("make a certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(raw)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("make a certificate: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: leaf}, pool, nil
}

// proof is what clients of the API have to prove; nil where nobody else reaches it.
func (c config) proof() (*tls.Config, *certificate.Keeper, error) {
	if c.Alone {
		return nil, certificate.Fixed(certificate.Identity{}), nil
	}
	kept, err := certificate.Open(c.API.Files)
	if err != nil {
		return nil, nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			now := kept.Identity()
			return &tls.Config{
				Certificates: []tls.Certificate{now.Own}, ClientCAs: now.Authority, MinVersion: tls.VersionTLS13,
				ClientAuth: tls.RequireAndVerifyClientCert, VerifyConnection: c.admits, SessionTicketsDisabled: true,
			}, nil
		},
	}, kept, nil
}
