package store

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
)

// Unreachable reports whether a client of HTTP got no answer that is one: status is that of the answer, 0 for none. A
// certificate that is not trusted, and a token that is refused, are answers: nothing but a person mends them.
func Unreachable(err error, status int) bool {
	if status != 0 {
		return Busy(status)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return false
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// Busy reports whether the status of an answer says that the same request may be answered later.
func Busy(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}
